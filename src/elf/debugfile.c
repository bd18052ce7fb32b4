/* SPDX-License-Identifier: Apache-2.0 */
/* Separate debug files. In: an image, the target's root, the image's path in it. Out: the file that matches. No state. */
#include "elf/elf_priv.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <zlib.h>

/* What a debug file must fit: the build id, or the CRC-32 that the debug link tells. */
struct proof {
	const char *build_id; /* NULL: none to compare */
	bool check_crc;
	uint32_t crc;
};

/* Regular files only, and without leaving the root by a symbolic link: the target writes what lies there. */
static int open_below(int root_fd, const char *path)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, .resolve = RESOLVE_IN_ROOT };
	xp_auto_fd fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return -1;
	return xp_steal_fd(&fd);
}

static uint32_t checksum(const struct xp_elf *elf)
{
	uLong crc = crc32(0, NULL, 0);

	for (size_t at = 0, step; at < elf->size; at += step) {
		step = elf->size - at < (1U << 30) ? elf->size - at : 1U << 30;
		crc = crc32(crc, elf->data + at, (uInt)step);
	}
	return (uint32_t)crc;
}

static bool fits(const struct xp_elf *file, const struct proof *proof)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	const char *build_id = xp_elf_build_id(file, arena);
	struct xp_symtab table;

	if (!xp_elf_symtab(file, SHT_SYMTAB, &table))
		return false;
	if (proof->check_crc)
		return checksum(file) == proof->crc && (!proof->build_id || !build_id || !strcmp(build_id, proof->build_id));
	return proof->build_id && build_id && !strcmp(build_id, proof->build_id);
}

static struct xp_elf *try_file(int root_fd, const char *path, const struct proof *proof)
{
	xp_auto_fd fd = open_below(root_fd, path);
	xp_auto_err ignored = { 0 }; /* the next place is tried */
	xp_auto(xp_elf_close) struct xp_elf *file = NULL;

	if (fd < 0 || xp_elf_open(fd, path, &file, &ignored) || !fits(file, proof))
		return NULL;
	return xp_steal(&file);
}

/* The file name of .gnu_debuglink, and its CRC; NULL when there is none. A name with a slash is damaged. */
static const char *read_link(const struct xp_elf *elf, uint32_t *ret_crc)
{
	struct xp_elf_section section;

	if (!xp_elf_section(elf, ".gnu_debuglink", &section) || !section.bytes || section.size < 8)
		return NULL;
	const char *name = (const char *)section.bytes;
	size_t len = strnlen(name, section.size), at = (len + 4) & ~(size_t)3;
	if (!len || len > 255 || at + 4 > section.size || memchr(name, '/', len))
		return NULL;
	memcpy(ret_crc, section.bytes + at, sizeof(*ret_crc));
	return name;
}

static struct xp_elf *by_link(int root_fd, const char *path, const char *link, const struct proof *proof)
{
	static const char *const patterns[][2] = { { "", "/" }, { "", "/.debug/" }, { "/usr/lib/debug", "/" } };
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash - path) : 0;
	struct xp_elf *file = NULL;
	char name[4096];

	for (size_t i = 0; slash && i < XP_LEN(patterns) && !file; i++) {
		int len = snprintf(name, sizeof(name), "%s%.*s%s%s", patterns[i][0], folder, path, patterns[i][1], link);

		if (len > 0 && (size_t)len < sizeof(name) && strcmp(name, path))
			file = try_file(root_fd, name, proof);
	}
	return file;
}

static struct xp_elf *search(const struct xp_elf *elf, int root_fd, const char *path, const char *build_id)
{
	struct proof proof = { .build_id = build_id };
	struct xp_elf *file = NULL;
	char name[256];

	if (build_id && strlen(build_id) > 2) {
		snprintf(name, sizeof(name), "/usr/lib/debug/.build-id/%.2s/%s.debug", build_id, build_id + 2);
		file = try_file(root_fd, name, &proof);
	}
	const char *link = file ? NULL : read_link(elf, &proof.crc);
	if (!link)
		return file;
	proof.check_crc = true;
	return by_link(root_fd, path, link, &proof);
}

struct xp_elf *xp_elf_open_debugfile(const struct xp_elf *elf, int root_fd, const char *path)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	const char *build_id = xp_elf_build_id(elf, arena);
	struct xp_elf *file = root_fd >= 0 ? search(elf, root_fd, path, build_id) : NULL;
	xp_auto_fd own_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return file || own_root < 0 ? file : search(elf, own_root, path, build_id);
}
