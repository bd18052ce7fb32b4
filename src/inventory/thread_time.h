/* SPDX-License-Identifier: Apache-2.0 */
/* The value of inventory `threads`: where each thread's window went, as the scheduler counts it. */
#ifndef XP_INVENTORY_THREAD_TIME_H
#define XP_INVENTORY_THREAD_TIME_H

#include "base/field.h"

struct xp_thread_row {
	uint32_t tid;
	const char *name, *name_pattern;
	const char *state; /* letter of /proc at the last look; NULL: never seen */
	uint64_t wall_ns;  /* between this thread's first and last reading */
	uint64_t on_cpu_ns, runqueue_ns, blocked_ns;
	uint64_t waiting_ns; /* part of runqueue_ns that had not ended yet at the window's end */
	uint64_t major_faults, voluntary_switches, involuntary_switches;
	bool started, ended, active;
	const char *cpus_allowed;	  /* such as "0-3"; NULL: not read */
	struct xp_opt_u32 syscall_number; /* threads that never moved: the call and the kernel function they sit in */
	const char *wait_channel;
};

struct xp_thread_group {
	const char *name_pattern;
	uint32_t threads;
	uint64_t on_cpu_ns, runqueue_ns, blocked_ns;
};

/* A process below the target in the tree, at the window's end or, when it ended before, at its start. */
struct xp_child_row {
	uint32_t pid, parent_pid;
	const char *name;
	uint64_t on_cpu_ns;
	bool started, ended;
};

struct xp_thread_time {
	uint64_t window_ns;
	const char *threads_pattern; /* --threads; NULL: all */
	uint32_t count, active;	     /* threads seen in the window; of these active (contract 14) */
	uint32_t started, ended;     /* seen to come, seen to go */
	struct xp_opt_u64 process_cpu_ns;
	uint64_t vanished_cpu_ns; /* CPU time of the process that no reading of a thread shows */
	uint64_t on_cpu_ns, runqueue_ns, blocked_ns;
	uint64_t major_faults, voluntary_switches, involuntary_switches;
	uint32_t runnable_at_end; /* threads in state R */
	const char *cpus_allowed; /* of the main thread, such as "0-3"; NULL: not readable */
	uint32_t n_cpus_allowed;
	uint64_t missed_threads;	     /* found no row: the value is incomplete */
	uint64_t sweeps, sweep_cpu_ns;	     /* what the readings cost xprobe */
	const struct xp_thread_row *threads; /* by on-CPU + run-queue falling, then tid */
	size_t n_threads;
	const struct xp_thread_group *groups; /* <= 16 by the same measure, then "*" */
	size_t n_groups;
	uint64_t children_cpu_ns; /* all descendants, those that ended included as far as they were waited for */
	uint32_t children_total;
	bool children_complete;		     /* false: the walk over /proc stopped at its bound */
	const struct xp_child_row *children; /* <= 1,024 by CPU time falling */
	size_t n_children;
};
extern const struct xp_record xp_thread_time_record; /* "ThreadTime" */
extern const struct xp_record xp_thread_group_record;

/* The row of a thread, NULL when there is none. */
const struct xp_thread_row *xp_thread_time_find(const struct xp_thread_time *value, uint32_t tid);

#endif
