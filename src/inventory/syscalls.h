/* SPDX-License-Identifier: Apache-2.0 */
/* The value of inventory `syscalls`: SyscallAggregateResult (contract 10.9). */
#ifndef XP_INVENTORY_SYSCALLS_H
#define XP_INVENTORY_SYSCALLS_H

#include "collect/document.h"

struct xp_text;

struct xp_syscall_duration {
	uint64_t min;
	double mean;
	uint64_t max, total;
};

/* Completed calls of one number. */
struct xp_syscall_group {
	uint32_t syscall_number;
	const char *syscall_name; /* NULL: the number has none */
	bool compat;
	uint64_t count, errors, interrupted;
	struct xp_syscall_duration duration_ns;
	const struct xp_count *errors_by_errno;
	size_t n_errors_by_errno;
	struct xp_histogram histogram_log2_ns;
	uint32_t threads; /* different threads that completed one */
	const char *entry_selector_hint, *exit_selector_hint;
};

struct xp_syscall_open {
	uint32_t tid;
	const char *thread_name;
	uint32_t syscall_number;
	const char *syscall_name;
	uint64_t age_ns; /* from the window's start when it began earlier */
	bool started_before_window;
};

struct xp_syscall_threads {
	const char *name_pattern;
	uint32_t threads;
	uint64_t calls, total_ns;
};

/* Not in the document: what one thread spent in one call, for rules that judge threads. */
struct xp_thread_syscall {
	uint32_t tid;
	uint32_t syscall_number;
	const char *thread_name, *syscall_name;
	bool compat;
	uint64_t count, total_ns, max_ns; /* completed calls */
	uint64_t open_ns;		  /* part of the window spent in a call that is open at its end; not in total_ns */
};

/*
 * observed_entries = matched_exits + inflight_at_end - open_at_start_still_open + no_return_calls + dropped_aggregates, exactly; the
 * sum of all groups' counts is matched_exits.
 */
struct xp_syscall_collection {
	int completeness; /* enum xp_completeness */
	uint64_t observed_entries, matched_exits, unmatched_exits, inflight_at_end, dropped_aggregates;
	uint64_t group_capacity, groups;
	double table_utilization;
	uint64_t open_at_start, open_at_start_still_open, groups_listed, no_return_calls, own_probe_calls, window_ns;
	const struct xp_account *sources;
	size_t n_sources;
};
enum xp_completeness { XP_COMPLETE, XP_INCOMPLETE, XP_COMPLETENESS_COUNT };

struct xp_syscall_inventory {
	const char *name;
	uint64_t duration_ms;
	const struct xp_syscall_group *groups; /* by total falling, count falling, number */
	size_t n_groups;
};

struct xp_syscalls {
	struct xp_document head;
	struct xp_syscall_inventory inventory;
	const struct xp_syscall_open *open_at_end; /* oldest first */
	size_t n_open_at_end;
	const struct xp_syscall_threads *threads; /* by total falling, then "*" */
	size_t n_threads;
	struct xp_syscall_collection collection;
	struct xp_quality quality;
	const struct xp_thread_syscall *thread_calls; /* by total falling */
	size_t n_thread_calls;
	uint64_t thread_calls_missed; /* rows beyond the table's bound */
};
extern const struct xp_record xp_syscalls_record; /* "SyscallAggregateResult" */

/* One step towards the size budget: shortens a list from its end. False: nothing is left to cut. `value` is a struct xp_syscalls. */
bool xp_syscalls_shrink(void *value);
/* True when there is nothing to keep: no call was entered in the window. */
bool xp_syscalls_empty(const void *value);
/* The value for people; lives in output/report_syscalls.c, beside the other reports. */
void xp_syscalls_report(const void *value, struct xp_text *out, bool color);

#endif
