/* SPDX-License-Identifier: Apache-2.0 */
/* Names of code that a JIT made: /tmp/perf-PID.map, lines "START SIZE name" with hexadecimal numbers. */
#ifndef XP_ELF_PERF_MAP_H
#define XP_ELF_PERF_MAP_H

#include "base/arena.h"
#include "elf/code_name.h"
#include "target/target.h"

struct xp_perf_map_account {
	uint64_t lines, broken;
};

/* Names `n` ascending addresses; of several lines that cover one the last counts. Names are copied into the arena. */
void xp_perf_map_resolve(const char *text, size_t size, const uint64_t *addresses, size_t n, struct xp_arena *arena,
			 struct xp_code_name *ret_names, struct xp_perf_map_account *account);

/*
 * The target's map: in its root, by its innermost PID; regular, at most 64 MiB, owned by the target's user or root. NULL when there is none
 * or it is not to be trusted. Owned (free).
 */
char *xp_perf_map_read(const struct xp_target *target, size_t *ret_size);

#endif
