/* SPDX-License-Identifier: Apache-2.0 */
/* Readings -> value of inventory `threads`. Pure. */
#ifndef XP_INVENTORY_THREAD_TIME_BUILD_H
#define XP_INVENTORY_THREAD_TIME_BUILD_H

#include "engine/proc_poll.h"
#include "engine/proc_tree.h"
#include "inventory/thread_time.h"

struct xp_regex;

struct xp_thread_readings {
	uint32_t pid;
	uint64_t start_ns, end_ns;
	const struct xp_proc_thread *rows;
	size_t n;
	uint64_t missed, sweeps, sweep_cpu_ns;
	struct xp_opt_u64 process_cpu_ns; /* over the window */
	uint64_t process_major_faults;
	const struct xp_tree *tree;
	const char *threads_pattern;
	const struct xp_regex *threads; /* NULL: every thread is listed */
};

/* 0, or INVALID_EVENT_SELECTOR when the regex exceeds its match limit on a name. Value and text in the arena. */
int xp_thread_time_build(const struct xp_thread_readings *in, struct xp_arena *arena, struct xp_thread_time **ret_value,
			 struct xp_err *reterr);

#endif
