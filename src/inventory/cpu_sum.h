/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up CPU samples while the window runs: records in; counts by (thread, stack), threads and totals out. */
#ifndef XP_INVENTORY_CPU_SUM_H
#define XP_INVENTORY_CPU_SUM_H

#include "inventory/raw_stacks.h"

struct xp_arena;
struct xp_regex;

/* One thread under one name pattern: a thread that renames itself is one in each. */
struct xp_cpu_sum_thread {
	uint32_t tid;
	const char *name, *name_pattern; /* in the arena */
	uint64_t samples;
};

struct xp_cpu_cell {
	uint32_t thread, stack; /* indexes */
	uint64_t samples;
};

/* Zero-initialised with arena, filter, max_samples and the members of `stacks` set; release with xp_cpu_sum_done. */
struct xp_cpu_sum {
	struct xp_arena *arena;	       /* borrowed: names */
	const struct xp_regex *filter; /* borrowed; NULL: all threads */
	uint64_t max_samples;
	struct xp_raw_stacks stacks;
	struct xp_map thread_of, cell_of;
	struct xp_cpu_sum_thread *threads;
	struct xp_cpu_cell *cells;
	size_t n_threads, cap_threads, n_cells, cap_cells;
	uint64_t taken;	   /* records handed in */
	uint64_t observed; /* of these kept */
	uint64_t filtered; /* the thread's name is not wanted */
	uint64_t beyond;   /* above max_samples */
	uint64_t no_room;  /* memory bound of stacks */
	uint64_t damaged;  /* records that contradict themselves */
	uint64_t kernel, torn;
};

int xp_cpu_sum_init(struct xp_cpu_sum *sum, struct xp_err *reterr);
void xp_cpu_sum_done(struct xp_cpu_sum *sum);
/* One record; `arg` is the sum. Negative only for lack of memory of the tables, or a regex that exceeds its bound. */
int xp_cpu_sum_take(void *arg, const struct xp_rec_sample *sample, struct xp_err *reterr);

#endif
