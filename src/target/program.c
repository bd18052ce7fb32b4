/* SPDX-License-Identifier: Apache-2.0 */
/* Executable + mappings -> struct xp_program. What cannot be read stays unknown; nothing here fails. No state. */
#include "target/program.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/arena.h"
#include "target/target_priv.h"

const char *const xp_libc_names[XP_LIBC_COUNT] = {
	[XP_LIBC_GLIBC] = "glibc",
	[XP_LIBC_MUSL] = "musl",
	[XP_LIBC_STATIC] = "static",
	[XP_LIBC_UNKNOWN] = "unknown",
};

enum { MAX_SEGMENTS = 128, MAX_INTERPRETER = 256 };

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static const char *machine_name(const Elf64_Ehdr *head)
{
	static const struct {
		unsigned machine, class;
		const char *name;
	} names[] = {
		{ EM_X86_64, ELFCLASS64, "x86_64" },
		{ EM_X86_64, ELFCLASS32, "x32" },
		{ EM_386, ELFCLASS32, "i686" },
		{ EM_AARCH64, ELFCLASS64, "aarch64" },
	};

	for (size_t i = 0; i < XP_LEN(names); i++)
		if (head->e_machine == names[i].machine && head->e_ident[EI_CLASS] == names[i].class)
			return names[i].name;
	return "unknown";
}

/* Text of PT_INTERP of a 64-bit file; false: there is none. */
static bool read_interpreter(int fd, const Elf64_Ehdr *head, char *ret_path, size_t size)
{
	for (unsigned i = 0; i < head->e_phnum && i < MAX_SEGMENTS; i++) {
		Elf64_Phdr segment;

		if (pread(fd, &segment, sizeof(segment), (off_t)(head->e_phoff + i * sizeof(segment))) != sizeof(segment))
			return false;
		if (segment.p_type != PT_INTERP)
			continue;
		size_t len = segment.p_filesz < size - 1 ? segment.p_filesz : size - 1;
		ssize_t got = pread(fd, ret_path, len, (off_t)segment.p_offset);
		ret_path[got > 0 ? got : 0] = '\0';
		return got > 0;
	}
	return false;
}

/* The dynamic linker decides; without one the program is linked statically (static PIE too). */
static int libc_of(int fd, const Elf64_Ehdr *head)
{
	char interpreter[MAX_INTERPRETER];

	if (head->e_ident[EI_CLASS] != ELFCLASS64)
		return XP_LIBC_UNKNOWN;
	if (!read_interpreter(fd, head, interpreter, sizeof(interpreter)))
		return XP_LIBC_STATIC;
	const char *name = base_name(interpreter);
	return starts(name, "ld-musl-")				   ? XP_LIBC_MUSL
	       : starts(name, "ld-linux") || starts(name, "ld-2.") ? XP_LIBC_GLIBC
								   : XP_LIBC_UNKNOWN;
}

static void read_headers(const struct xp_target *target, struct xp_program *program)
{
	xp_auto_fd fd = xp_target_openat(target, "exe");
	Elf64_Ehdr head;

	if (fd < 0 || pread(fd, &head, sizeof(head), 0) != sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return;
	program->machine = machine_name(&head);
	program->libc = libc_of(fd, &head);
}

/* "3.11" out of libpython3.11.so.1.0 or python3.11d. */
static const char *python_version(const char *path, struct xp_arena *arena)
{
	const char *name = base_name(path);
	const char *at = starts(name, "libpython3.") ? name + 9 : starts(name, "python3.") ? name + 6 : NULL;
	size_t digits = at ? strspn(at + 2, "0123456789") : 0;

	return digits ? xp_arena_dup(arena, at, 2 + digits) : NULL;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void look_at(struct xp_program *program, const char *path, struct xp_arena *arena)
{
	const char *name = base_name(path), *version = python_version(path, arena);

	program->libcuda |= starts(name, "libcuda.so");
	program->libcudart |= starts(name, "libcudart.so");
	program->agent |= starts(name, "libxprobe-agent.so") || starts(path, "/memfd:xprobe-agent");
	if (version && !program->python_version)
		program->python_version = version;
}

static bool is_exe(const struct xp_target *target, const struct xp_mapping *m)
{
	struct stat st = { .st_dev = target->exe_dev, .st_ino = target->exe_ino };

	return target->exe_known && m->inode == target->exe_ino && xp_target_same_file(target, m, &st);
}

void xp_program_read(const struct xp_target *target, struct xp_arena *arena, struct xp_program *ret_program)
{
	struct xp_program program = { .executable = "", .machine = "unknown", .libc = XP_LIBC_UNKNOWN };
	const struct xp_maps *maps = xp_target_maps(target);
	const char **list = xp_arena_array(arena, const char *, maps->n ? maps->n : 1);
	size_t n = 0;

	read_headers(target, &program);
	for (size_t i = 0; i < maps->n; i++) {
		const struct xp_mapping *m = &maps->at[i];

		if (!m->inode)
			continue;
		const char *path = xp_arena_str(arena, m->path);
		bool exe = is_exe(target, m);
		if (exe)
			program.executable = path;
		if (!m->exec || path[0] != '/')
			continue;
		look_at(&program, path, arena);
		if (!exe)
			list[n++] = path;
	}
	qsort(list, n, sizeof(*list), by_text);
	for (size_t i = 0; i < n; i++)
		if (!program.n_libraries || strcmp(list[program.n_libraries - 1], list[i]) != 0)
			list[program.n_libraries++] = list[i];
	program.libraries = list;
	*ret_program = program;
}
