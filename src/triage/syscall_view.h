/* SPDX-License-Identifier: Apache-2.0 */
/* What rules need of the syscall inventory: calls summed over threads, calls by thread, calls still open. */
#ifndef XP_TRIAGE_SYSCALL_VIEW_H
#define XP_TRIAGE_SYSCALL_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xp_arena;
struct xp_syscalls;

/* One syscall, all threads. name NULL: the number has none, no spec can select it. */
struct xp_call_sum {
	uint32_t number;
	bool compat;
	const char *name;
	uint64_t calls, errors, again, interrupted, total_ns, max_ns; /* again: EAGAIN among errors */
	const char *top_errno;					      /* most frequent but EAGAIN; NULL: none */
};

/* One syscall of one thread; a call that was still open counts its time in the window. */
struct xp_call_use {
	uint32_t tid;
	const char *thread_name, *name;
	uint64_t calls, total_ns;
};

struct xp_view_open {
	uint32_t tid;
	const char *thread_name, *name;
	uint64_t age_ns;
	bool started_before_window;
};

struct xp_syscall_view {
	uint64_t calls, errors, interrupted, open_at_end;
	const struct xp_call_sum *sums; /* total time falling */
	size_t n_sums;
	const struct xp_call_use *uses; /* total time falling */
	size_t n_uses;
	const struct xp_view_open *open; /* oldest first */
	size_t n_open;
};

/* What all threads did in that call of the native table. NULL: nothing. */
const struct xp_call_sum *xp_call_sum_of(const struct xp_syscall_view *view, const char *name);
/* The view of a finished inventory, in the arena; names stay the inventory's. */
const struct xp_syscall_view *xp_syscall_view_of(const struct xp_syscalls *value, struct xp_arena *arena);

#endif
