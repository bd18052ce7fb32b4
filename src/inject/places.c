/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the target's C library and room for code, out of its mapped files. In: maps, files. Out: run-time addresses. No state. */
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "arch/injection.h"
#include "elf/symbols.h"
#include "inject/inject_priv.h"

enum { CODE_ALIGN = 16, NOW = 2, PRIVATE_MODE = 0x80000000 /* glibc: __RTLD_DLOPEN, "not from a program" */ };

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool xp_inject_is_library(const struct xp_mapping *mapping, const char *name)
{
	const char *base = base_name(mapping->path);
	size_t len = strlen(name);

	return mapping->inode && !strncmp(base, name, len) && (!strncmp(base + len, ".so", 3) || !strncmp(base + len, "-2.", 3));
}

enum xp_inject_part xp_inject_part_of(const struct xp_mapping *mapping)
{
	if (!mapping || !mapping->inode)
		return XP_PART_NONE;
	if (xp_inject_is_library(mapping, "libc") || xp_inject_is_library(mapping, "libpthread"))
		return XP_PART_LIBC;
	if (xp_inject_is_library(mapping, "ld-linux-x86-64") || xp_inject_is_library(mapping, "ld"))
		return XP_PART_LOADER;
	return XP_PART_OTHER;
}

/* A library of the target with its symbols. `at`: one of its mappings. */
struct library {
	const struct xp_mapping *at;
	struct xp_elf *elf;
};

static int open_library(const struct xp_target *target, const char *name, struct library *ret_library, struct xp_err *reterr)
{
	const struct xp_maps *maps = xp_target_maps(target);

	for (size_t i = 0; i < maps->n; i++) {
		const struct xp_mapping *m = &maps->at[i];

		if (!m->exec || !xp_inject_is_library(m, name))
			continue;
		xp_auto_fd fd = -1;
		int rc = xp_target_open_mapping(target, m, &fd, reterr);
		if (!rc)
			rc = xp_elf_open(fd, m->path, &ret_library->elf, reterr);
		if (!rc) {
			ret_library->at = m;
			xp_elf_load_symbols(ret_library->elf, -1, m->path);
		}
		return rc;
	}
	return xp_fail(reterr, XP_E_UNSUPPORTED_TARGET, "process %u maps no %s", xp_target_pid(target), name);
}

/* 0: there is no such function. */
static uint64_t address_of(const struct xp_target *target, const struct library *library, const char *name, struct xp_arena *arena)
{
	static const char *const versions[] = { NULL, "GLIBC_PRIVATE" };
	const struct xp_maps *maps = xp_target_maps(target);
	struct xp_symbols_found found;
	uint64_t offset;

	if (!library->elf)
		return 0;
	found.n = 0;
	for (size_t i = 0; i < XP_LEN(versions) && !found.n; i++)
		xp_symbols_find(library->elf, &(struct xp_symbol_query){ .name = name, .version = versions[i] }, arena, &found);
	if (!found.n || found.at[0].ifunc || !xp_elf_to_offset(library->elf, found.at[0].address, &offset))
		return 0;
	for (size_t i = 0; i < maps->n; i++) {
		const struct xp_mapping *m = &maps->at[i];

		if (m->exec && m->inode == library->at->inode && m->dev_major == library->at->dev_major &&
		    m->dev_minor == library->at->dev_minor && offset >= m->offset && offset - m->offset < m->end - m->start)
			return m->start + (offset - m->offset);
	}
	return 0;
}

/* glibc 2.34 and newer, else libdl, else what libc keeps for itself. */
static void find_loader_calls(const struct xp_target *target, const struct library *libc, const struct library *libdl,
			      struct xp_arena *arena, struct xp_inject_places *places)
{
	const struct library *from[] = { libc, libdl };

	places->open_flags = NOW;
	for (size_t i = 0; i < XP_LEN(from) && !places->open; i++) {
		places->open = address_of(target, from[i], "dlopen", arena);
		places->close = address_of(target, from[i], "dlclose", arena);
		places->find = address_of(target, from[i], "dlsym", arena);
		places->error = address_of(target, from[i], "dlerror", arena);
	}
	if (places->open)
		return;
	places->open_flags = NOW | PRIVATE_MODE;
	places->open = address_of(target, libc, "__libc_dlopen_mode", arena);
	places->close = address_of(target, libc, "__libc_dlclose", arena);
	places->find = address_of(target, libc, "__libc_dlsym", arena);
	places->error = 0;
}

/* An injection whose tool died, or that was let go, leaves its code; a thread may still be on it. */
static bool is_used(uint32_t tid, uint64_t place)
{
	unsigned char bytes[16];
	struct iovec here = { bytes, sizeof(bytes) }, there = { (void *)(uintptr_t)place, sizeof(bytes) };

	return process_vm_readv((pid_t)tid, &here, 1, &there, 1, 0) == sizeof(bytes) && xp_injection_is_code(bytes);
}

/* Unused bytes behind the code of a mapped file: the rest of its last page. 0: too few. */
static uint64_t room_behind(const struct xp_target *target, const struct xp_mapping *m)
{
	xp_auto(xp_elf_close) struct xp_elf *elf = NULL;
	xp_auto_err err = { 0 };
	xp_auto_fd fd = -1;

	if (!m->exec || m->write || m->shared || !m->inode || xp_target_open_mapping(target, m, &fd, &err) ||
	    xp_elf_open(fd, m->path, &elf, &err))
		return 0;
	const struct xp_elf_segment *segment = xp_elf_segment_of_offset(elf, m->offset);
	if (!segment)
		segment = xp_elf_segment_of_offset(elf, m->offset + 4095); /* a segment that begins inside the page */
	if (!segment || !segment->exec)
		return 0;
	uint64_t end = m->start + (segment->offset + segment->file_size - m->offset);
	uint64_t place = (end + CODE_ALIGN - 1) & ~(uint64_t)(CODE_ALIGN - 1);
	return place >= m->start && place <= m->end && m->end - place >= xp_injection_size() && m->end - place < 4096 ? place : 0;
}

static uint64_t find_room(const struct xp_target *target, uint32_t tid)
{
	const struct xp_maps *maps = xp_target_maps(target);

	/* The C library first: it is never unloaded. */
	for (int any = 0; any < 2; any++)
		for (size_t i = 0; i < maps->n; i++) {
			bool libc = xp_inject_part_of(&maps->at[i]) >= XP_PART_LIBC;
			uint64_t place = libc == !any ? room_behind(target, &maps->at[i]) : 0;

			if (place && !is_used(tid, place))
				return place;
		}
	return 0;
}

int xp_inject_find_places(struct xp_target *target, uint32_t tid, struct xp_arena *arena, struct xp_inject_places *ret_places,
			  struct xp_err *reterr)
{
	struct xp_inject_places places = { 0 };
	struct library libc = { 0 }, libdl = { 0 };
	xp_auto_err ignored = { 0 };

	int rc = open_library(target, "libc", &libc, reterr);
	if (rc)
		return rc;
	open_library(target, "libdl", &libdl, &ignored);
	find_loader_calls(target, &libc, &libdl, arena, &places);
	places.errno_location = address_of(target, &libc, "__errno_location", arena);
	places.format = address_of(target, &libc, "snprintf", arena);
	xp_elf_close(libc.elf);
	xp_elf_close(libdl.elf);
	if (!places.open || !places.close || !places.find || !places.errno_location || !places.format)
		return xp_fail(reterr, XP_E_UNSUPPORTED_TARGET, "the C library of process %u has no usable dlopen", xp_target_pid(target));
	places.code = find_room(target, tid);
	if (!places.code)
		return xp_fail(reterr, XP_E_UNSUPPORTED_TARGET, "no file of process %u leaves %zu bytes behind its code",
			       xp_target_pid(target), xp_injection_size());
	*ret_places = places;
	return 0;
}
