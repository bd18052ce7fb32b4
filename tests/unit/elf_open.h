/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of elf/ share: opening the programs of tests/targets/shapes, and looking up labels in them. */
#ifndef XP_TESTS_ELF_OPEN_H
#define XP_TESTS_ELF_OPEN_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "elf/symbols.h"

static inline const char *target_path(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/targets/%s", XP_BUILD_DIR, name);
	return path;
}

static inline void skip_because(const char *path)
{
	printf("SKIP: %s was not built, its compiler is absent\n", path);
	skip();
}

/* Opens a target with its symbols; a compiler that is absent makes the test SKIP. */
static inline struct xp_elf *open_target(const char *name)
{
	const char *path = target_path(name);
	xp_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	struct xp_err err = { 0 };
	struct xp_elf *elf;

	if (fd < 0)
		skip_because(path);
	if (xp_elf_open(fd, path, &elf, &err))
		fail_msg("%s: %s", name, err.message);
	xp_elf_load_symbols(elf, -1, path);
	return elf;
}

static inline struct xp_symbols_found find_all(const struct xp_elf *elf, struct xp_arena *arena, const char *name, bool full)
{
	struct xp_symbol_query query = { .name = name, .full = full };
	struct xp_symbols_found found;

	xp_symbols_find(elf, &query, arena, &found);
	return found;
}

/* Address of the one function of that name. */
static inline uint64_t address_of(const struct xp_elf *elf, const char *name)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_symbols_found found = find_all(elf, arena, name, false);

	if (found.total != 1)
		fail_msg("%s stands for %lu addresses", name, (unsigned long)found.total);
	return found.at[0].address;
}

#endif
