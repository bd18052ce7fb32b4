/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up what the system call engine hands over: threads and their cells in, sums by call, by name pattern and by thread out. */
#ifndef XP_INVENTORY_SYSCALLS_SUM_H
#define XP_INVENTORY_SYSCALLS_SUM_H

#include "base/hash.h"
#include "engine/bpf_syscalls.h"

struct xp_arena;
struct xp_regex;

struct xp_sum_errno {
	uint32_t errnum; /* 0: beyond what a cell tells apart */
	uint64_t n;
};

struct xp_sum_group {
	uint32_t nr;
	bool compat;
	uint32_t threads;
	uint64_t count, errors, interrupted, min_ns, max_ns, total_ns;
	struct xp_sum_errno *errnos;
	size_t n_errnos, cap_errnos;
	uint64_t buckets[XP_SYS_BUCKETS];
};

struct xp_sum_pattern {
	const char *name; /* NULL: threads whose name is not known, or beyond the table */
	uint32_t threads;
	uint64_t calls, total_ns;
};

struct xp_sum_thread {
	uint32_t thread, tid;
	bool kept;
	char name[16];
	size_t pattern;
};

struct xp_sum_row {
	uint32_t tid, nr;
	bool compat;
	char name[16];
	uint64_t count, total_ns, max_ns;
};

struct xp_sum_open {
	uint32_t tid, nr;
	char name[16];
	uint64_t start_ns;
	bool compat, counted;
};

enum { XP_SUM_PATTERNS = 4096, XP_SUM_ROWS = 131072 };

/* Zero-initialised with arena and filter set; released with xp_syscalls_sum_done. */
struct xp_syscalls_sum {
	struct xp_arena *arena;	       /* borrowed: names of patterns */
	const struct xp_regex *filter; /* borrowed; NULL: all threads */
	struct xp_map group_of, pattern_of, thread_of;
	struct xp_sum_group *groups;
	struct xp_sum_pattern *patterns; /* [0] is the rest */
	struct xp_sum_thread *threads;	 /* those whose cells come later */
	struct xp_sum_row *rows;
	struct xp_sum_open *open;
	size_t n_groups, n_patterns, n_threads, n_rows, n_open;
	size_t cap_groups, cap_patterns, cap_threads, cap_rows, cap_open;
	uint64_t missed_rows;
	struct xp_sys_thread total;   /* counters of the kept threads */
	uint64_t filtered_entries;    /* of the others */
	struct xp_sum_thread current; /* the thread handed over last */
};

void xp_syscalls_sum_done(struct xp_syscalls_sum *sum);
/* The two calls of struct xp_bpf_syscalls_sink; arg is the sum. */
int xp_syscalls_sum_thread(void *sum, const struct xp_sys_thread *thread, struct xp_err *reterr);
int xp_syscalls_sum_cell(void *sum, const struct xp_sys_key *key, const struct xp_sys_cell *cell, struct xp_err *reterr);
/* Threads whose record was lost; a filter cannot keep them. */
void xp_syscalls_sum_lost(struct xp_syscalls_sum *sum, const struct xp_sys_thread *lost);

#endif
