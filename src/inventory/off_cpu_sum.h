/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up blocks while the window runs: samples and thread records in; counts by (thread, place, stack), threads and totals out. */
#ifndef XP_INVENTORY_OFF_CPU_SUM_H
#define XP_INVENTORY_OFF_CPU_SUM_H

#include "inventory/raw_stacks.h"
#include "wire/sched.h"

struct xp_arena;
struct xp_regex;

enum { XP_OFF_CPU_CELLS_MAX = 262144 };
#define XP_OFF_CPU_NO_STACK UINT32_MAX

/* One thread under one name: a thread that renames itself is one in each. */
struct xp_off_cpu_sum_thread {
	uint32_t tid;
	const char *name, *name_pattern; /* in the arena */
	uint64_t wall_ns, ns[3];	 /* by XP_SCHED_*; under the last name only */
	bool booked, ended;		 /* a thread record came */
};

struct xp_off_cpu_cell {
	uint32_t thread, stack; /* indexes */
	struct xp_sched_place place;
	uint64_t count, total_ns, max_ns, open;
	const char *wait_channel;
};

/* Stack of a thread that was blocked when it was read from outside. It is the stack of the block that began after `runs` runs, and no
 * other. */
struct xp_off_cpu_still {
	uint64_t runs;
	uint32_t stack;
	const char *wait_channel; /* in the arena */
};

/* Zero-initialised with arena, filter, start_ns, end_ns and the members of `stacks` set; release with xp_off_cpu_sum_done. */
struct xp_off_cpu_sum {
	struct xp_arena *arena;	       /* borrowed: names */
	const struct xp_regex *filter; /* borrowed; NULL: all threads */
	uint64_t start_ns, end_ns;     /* end_ns is set before the living threads come */
	uint64_t min_block_ns;
	struct xp_raw_stacks stacks;
	struct xp_map thread_of, cell_of, still_of; /* still_of: tid -> index */
	struct xp_off_cpu_sum_thread *threads;
	struct xp_off_cpu_cell *cells;
	struct xp_off_cpu_still *stills;
	size_t n_threads, cap_threads, n_cells, cap_cells, n_stills, cap_stills;
	uint64_t blocks;      /* of wanted threads, open ones included */
	uint64_t stacks_lost; /* long blocks without a stack */
	uint64_t no_room;     /* of these: our tables were full, or the record was damaged */
	uint64_t filtered;    /* blocks of other threads */
};

void xp_off_cpu_sum_done(struct xp_off_cpu_sum *sum);
/* `arg` is the sum. Negative for a regex that exceeds its bound. */
int xp_off_cpu_sum_sample(void *arg, const struct xp_rec_sample *sample, struct xp_err *reterr);
int xp_off_cpu_sum_thread(void *arg, const struct xp_sched_thread *thread, struct xp_err *reterr);
/* True when the thread's block is long enough for a stack and its name is wanted. Before the books: the thread is still blocked. */
bool xp_off_cpu_sum_wants(const struct xp_off_cpu_sum *sum, const struct xp_sched_thread *thread);
/* Keeps the stack of a blocked thread for its books. */
void xp_off_cpu_sum_still(struct xp_off_cpu_sum *sum, const struct xp_sched_thread *thread, const struct xp_rec_sample *sample,
			  const char *wait_channel);

#endif
