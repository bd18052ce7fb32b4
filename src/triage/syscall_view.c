// SPDX-License-Identifier: Apache-2.0
/* SyscallAggregateResult -> what rules need. No state. */
#include "triage/syscall_view.h"

#include <stdlib.h>
#include <string.h>

#include "inventory/syscalls.h"

static struct xp_call_sum sum_of(const struct xp_syscall_group *group)
{
	struct xp_call_sum sum = {
		.number = group->syscall_number,
		.compat = group->compat,
		.name = group->syscall_name,
		.calls = group->count,
		.errors = group->errors,
		.interrupted = group->interrupted,
		.total_ns = group->duration_ns.total,
		.max_ns = group->duration_ns.max,
	};
	uint64_t most = 0;

	for (size_t i = 0; i < group->n_errors_by_errno; i++) {
		const struct xp_count *count = &group->errors_by_errno[i];

		if (!strcmp(count->name, "EAGAIN")) {
			sum.again += count->n;
		} else if (count->n > most) {
			most = count->n;
			sum.top_errno = count->name;
		}
	}
	return sum;
}

static int longest_first(const void *a, const void *b)
{
	const struct xp_call_use *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void take_uses(const struct xp_syscalls *value, struct xp_syscall_view *view, struct xp_arena *arena)
{
	struct xp_call_use *uses = xp_arena_array(arena, struct xp_call_use, value->n_thread_calls + 1);

	for (size_t i = 0; i < value->n_thread_calls; i++) {
		const struct xp_thread_syscall *from = &value->thread_calls[i];

		if (from->compat)
			continue; /* no selector names a 32-bit call */
		uses[view->n_uses++] = (struct xp_call_use){
			.tid = from->tid,
			.thread_name = from->thread_name,
			.name = from->syscall_name,
			.calls = from->count,
			.total_ns = from->total_ns + from->open_ns,
		};
	}
	qsort(uses, view->n_uses, sizeof(*uses), longest_first);
	view->uses = uses;
}

static void take_open(const struct xp_syscalls *value, struct xp_syscall_view *view, struct xp_arena *arena)
{
	struct xp_view_open *open = xp_arena_array(arena, struct xp_view_open, value->n_open_at_end + 1);

	for (; view->n_open < value->n_open_at_end; view->n_open++) {
		const struct xp_syscall_open *from = &value->open_at_end[view->n_open];

		open[view->n_open] = (struct xp_view_open){
			.tid = from->tid,
			.thread_name = from->thread_name,
			.name = from->syscall_name,
			.age_ns = from->age_ns,
			.started_before_window = from->started_before_window,
		};
	}
	view->open = open;
}

const struct xp_syscall_view *xp_syscall_view_of(const struct xp_syscalls *value, struct xp_arena *arena)
{
	struct xp_syscall_view *view = xp_arena_new_of(arena, struct xp_syscall_view);
	size_t n = value->inventory.n_groups;
	struct xp_call_sum *sums = xp_arena_array(arena, struct xp_call_sum, n + 1);

	for (; view->n_sums < n; view->n_sums++) {
		const struct xp_call_sum sum = sums[view->n_sums] = sum_of(&value->inventory.groups[view->n_sums]);

		view->calls += sum.calls;
		view->errors += sum.errors;
		view->interrupted += sum.interrupted;
	}
	view->sums = sums;
	view->open_at_end = value->collection.inflight_at_end;
	take_uses(value, view, arena);
	take_open(value, view, arena);
	return view;
}

const struct xp_call_sum *xp_call_sum_of(const struct xp_syscall_view *view, const char *name)
{
	for (size_t i = 0; i < view->n_sums; i++)
		if (view->sums[i].name && !view->sums[i].compat && !strcmp(view->sums[i].name, name))
			return &view->sums[i];
	return NULL;
}
