/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted lists, names and hints out of sums. In: struct xp_syscalls_sum, the window. Out: struct xp_syscalls. No state. */
#include "inventory/syscalls_build.h"

#include <stdlib.h>
#include <string.h>

#include "arch/x86_64/syscalls.h"
#include "collect/issues.h"
#include "target/thread_pattern.h"

static const char *name_of(uint32_t nr, bool compat)
{
	return compat ? xp_syscall_name_32(nr) : xp_syscall_name(nr);
}

static int falling(uint64_t a, uint64_t b)
{
	return a == b ? 0 : a > b ? -1 : 1;
}

static int by_errno_count(const void *a, const void *b)
{
	const struct xp_sum_errno *x = a, *y = b;
	int order = falling(x->n, y->n);

	return order ? order : x->errnum < y->errnum ? -1 : x->errnum > y->errnum;
}

static void make_errnos(struct xp_sum_group *from, struct xp_syscall_group *to, struct xp_arena *arena)
{
	struct xp_count *counts = xp_arena_array(arena, struct xp_count, from->n_errnos);

	if (from->n_errnos)
		qsort(from->errnos, from->n_errnos, sizeof(*from->errnos), by_errno_count);
	for (size_t i = 0; i < from->n_errnos; i++) {
		counts[i].name = from->errnos[i].errnum ? xp_arena_str(arena, xp_errno_name((int)from->errnos[i].errnum)) : "other";
		counts[i].n = from->errnos[i].n;
	}
	to->errors_by_errno = counts;
	to->n_errors_by_errno = from->n_errnos;
}

static void make_group(struct xp_sum_group *from, struct xp_syscall_group *to, struct xp_arena *arena)
{
	*to = (struct xp_syscall_group){
		.syscall_number = from->nr,
		.syscall_name = name_of(from->nr, from->compat),
		.compat = from->compat,
		.count = from->count,
		.errors = from->errors,
		.interrupted = from->interrupted,
		.threads = from->threads,
		.duration_ns = { .min = from->min_ns,
				 .mean = (double)((long double)from->total_ns / (long double)from->count),
				 .max = from->max_ns,
				 .total = from->total_ns },
	};
	memcpy(to->histogram_log2_ns.bucket, from->buckets, sizeof(from->buckets));
	make_errnos(from, to, arena);
	if (!to->syscall_name || from->compat)
		return;
	to->entry_selector_hint = xp_arena_fmt(arena, "syscall:%s:entry", to->syscall_name);
	to->exit_selector_hint = xp_arena_fmt(arena, "syscall:%s:exit", to->syscall_name);
}

static int by_total(const void *a, const void *b)
{
	const struct xp_syscall_group *x = a, *y = b;
	int order = falling(x->duration_ns.total, y->duration_ns.total);

	if (!order)
		order = falling(x->count, y->count);
	if (!order && x->syscall_number != y->syscall_number)
		order = x->syscall_number < y->syscall_number ? -1 : 1;
	return order ? order : (int)x->compat - (int)y->compat;
}

static void make_groups(struct xp_syscalls_sum *sum, struct xp_syscalls *out, struct xp_arena *arena)
{
	struct xp_syscall_group *groups = xp_arena_array(arena, struct xp_syscall_group, sum->n_groups);

	for (size_t i = 0; i < sum->n_groups; i++)
		make_group(&sum->groups[i], &groups[i], arena);
	if (sum->n_groups)
		qsort(groups, sum->n_groups, sizeof(*groups), by_total);
	out->inventory.groups = groups;
	out->inventory.n_groups = sum->n_groups;
}

static uint64_t age_of(const struct xp_sum_open *open, const struct xp_window *window)
{
	uint64_t start = open->counted && open->start_ns > window->start_ns ? open->start_ns : window->start_ns;

	return window->end_ns > start ? window->end_ns - start : 0;
}

static int oldest_first(const void *a, const void *b)
{
	const struct xp_syscall_open *x = a, *y = b;
	int order = falling(x->age_ns, y->age_ns);

	if (!order)
		order = (int)y->started_before_window - (int)x->started_before_window;
	return order ? order : x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void make_open(const struct xp_syscalls_sum *sum, const struct xp_window *window, struct xp_syscalls *out, struct xp_arena *arena)
{
	struct xp_syscall_open *list = xp_arena_array(arena, struct xp_syscall_open, sum->n_open);

	for (size_t i = 0; i < sum->n_open; i++) {
		list[i] = (struct xp_syscall_open){
			.tid = sum->open[i].tid,
			.thread_name = xp_arena_str(arena, sum->open[i].name),
			.syscall_number = sum->open[i].nr,
			.syscall_name = name_of(sum->open[i].nr, sum->open[i].compat),
			.age_ns = age_of(&sum->open[i], window),
			.started_before_window = !sum->open[i].counted,
		};
		out->collection.open_at_start_still_open += !sum->open[i].counted;
	}
	if (sum->n_open)
		qsort(list, sum->n_open, sizeof(*list), oldest_first);
	out->open_at_end = list;
	out->n_open_at_end = sum->n_open < XP_OPEN_LISTED ? sum->n_open : XP_OPEN_LISTED;
	out->collection.inflight_at_end = sum->n_open;
}

static int by_pattern_total(const void *a, const void *b)
{
	const struct xp_sum_pattern *x = a, *y = b;
	int order = falling(x->total_ns, y->total_ns);

	if (!order)
		order = falling(x->calls, y->calls);
	return order ? order : strcmp(x->name, y->name);
}

/* Patterns behind the 15th, and what never had one, make the row "*". */
static void make_threads(const struct xp_syscalls_sum *sum, struct xp_syscalls *out, struct xp_arena *arena)
{
	size_t n = sum->n_patterns ? sum->n_patterns - 1 : 0;
	struct xp_syscall_threads *rows = xp_arena_array(arena, struct xp_syscall_threads, XP_MAX_PATTERNS);
	struct xp_syscall_threads rest = { .name_pattern = "*" };

	if (n)
		qsort(sum->patterns + 1, n, sizeof(*sum->patterns), by_pattern_total);
	if (sum->n_patterns) {
		rest.threads = sum->patterns[0].threads;
		rest.calls = sum->patterns[0].calls;
		rest.total_ns = sum->patterns[0].total_ns;
	}
	bool have_rest = n > XP_MAX_PATTERNS || rest.calls || rest.threads;
	size_t listed = have_rest && n > XP_MAX_PATTERNS - 1 ? XP_MAX_PATTERNS - 1 : n;
	for (size_t i = 0; i < n; i++) {
		const struct xp_sum_pattern *from = &sum->patterns[i + 1];
		struct xp_syscall_threads *to = i < listed ? &rows[i] : &rest;

		to->name_pattern = i < listed ? xp_arena_str(arena, from->name) : "*";
		to->threads += from->threads;
		to->calls += from->calls;
		to->total_ns += from->total_ns;
	}
	if (have_rest)
		rows[listed++] = rest;
	out->threads = rows;
	out->n_threads = listed;
}

static int by_row_total(const void *a, const void *b)
{
	const struct xp_thread_syscall *x = a, *y = b;
	int order = falling(x->total_ns + x->open_ns, y->total_ns + y->open_ns);

	return order ? order : x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Calls that are open belong to the thread's time in them, also when none was completed. */
static void make_rows(const struct xp_syscalls_sum *sum, const struct xp_window *window, struct xp_syscalls *out, struct xp_arena *arena)
{
	struct xp_thread_syscall *rows = xp_arena_array(arena, struct xp_thread_syscall, sum->n_rows + sum->n_open);
	struct xp_map row_of = { 0 };
	size_t n = sum->n_rows;
	bool new;

	for (size_t i = 0; i < n; i++) {
		const struct xp_sum_row *from = &sum->rows[i];

		rows[i] = (struct xp_thread_syscall){
			.tid = from->tid,
			.syscall_number = from->nr,
			.thread_name = xp_arena_str(arena, from->name),
			.syscall_name = name_of(from->nr, from->compat),
			.compat = from->compat,
			.count = from->count,
			.total_ns = from->total_ns,
			.max_ns = from->max_ns,
		};
		*xp_map_at(&row_of, (uint64_t)from->tid << 32 | (uint64_t)from->compat << 31 | from->nr, NULL, NULL, &new) = i;
	}
	for (size_t i = 0; i < sum->n_open; i++) {
		const struct xp_sum_open *open = &sum->open[i];
		uint64_t *at = xp_map_at(&row_of, (uint64_t)open->tid << 32 | (uint64_t)open->compat << 31 | open->nr, NULL, NULL, &new);

		if (new) {
			*at = n;
			rows[n++] = (struct xp_thread_syscall){
				.tid = open->tid,
				.syscall_number = open->nr,
				.thread_name = xp_arena_str(arena, open->name),
				.syscall_name = name_of(open->nr, open->compat),
				.compat = open->compat,
			};
		}
		rows[*at].open_ns += age_of(open, window);
	}
	xp_map_done(&row_of);
	if (n)
		qsort(rows, n, sizeof(*rows), by_row_total);
	out->thread_calls = rows;
	out->n_thread_calls = n;
	out->thread_calls_missed = sum->missed_rows;
}

static void make_account(const struct xp_syscalls_sum *sum, struct xp_syscalls *out, struct xp_arena *arena)
{
	struct xp_syscall_collection *c = &out->collection;
	struct xp_account *account = xp_arena_new_of(arena, struct xp_account);
	struct xp_count *reasons = xp_arena_array(arena, struct xp_count, 2);
	uint64_t table_full = sum->total.dropped_inflight + sum->total.dropped_table;

	account->source = "ebpf_syscall";
	account->emitted = sum->total.entries + sum->filtered_entries;
	account->delivered = sum->total.entries - c->dropped_aggregates;
	account->dropped = c->dropped_aggregates;
	account->filtered = sum->filtered_entries;
	account->still_open = c->inflight_at_end - c->open_at_start_still_open;
	account->dropped_reasons = reasons;
	if (table_full)
		reasons[account->n_dropped_reasons++] = (struct xp_count){ "table_full", table_full };
	if (sum->total.dropped_missed)
		reasons[account->n_dropped_reasons++] = (struct xp_count){ "missed_exit", sum->total.dropped_missed };
	c->sources = account;
	c->n_sources = 1;
}

static void make_collection(const struct xp_syscalls_sum *sum, const struct xp_inventory_request *request, const struct xp_window *window,
			    struct xp_syscalls *out, struct xp_arena *arena)
{
	struct xp_syscall_collection *c = &out->collection;

	c->observed_entries = sum->total.entries;
	c->matched_exits = sum->total.matched;
	c->unmatched_exits = sum->total.unmatched;
	c->dropped_aggregates = sum->total.dropped_inflight + sum->total.dropped_table + sum->total.dropped_missed;
	c->no_return_calls = sum->total.no_return;
	c->own_probe_calls = sum->total.own_probe;
	c->open_at_start = sum->total.open_at_start_ended + c->open_at_start_still_open;
	c->group_capacity = request->max_groups;
	c->groups = c->groups_listed = sum->n_groups;
	c->table_utilization = request->max_groups ? (double)sum->n_groups / (double)request->max_groups : 0;
	c->window_ns = window->end_ns - window->start_ns;
	c->completeness = c->dropped_aggregates || c->unmatched_exits ? XP_INCOMPLETE : XP_COMPLETE;
	make_account(sum, out, arena);
}

static void make_notes(const struct xp_inventory_request *request, const struct xp_window *window, struct xp_syscalls *out,
		       struct xp_arena *arena)
{
	const struct xp_syscall_collection *c = &out->collection;
	struct xp_issues issues = { .arena = arena };
	struct xp_warnings warnings = { .arena = arena };

	xp_window_issues_end(window, &issues);
	xp_window_issues_cost(window, &issues);
	xp_window_issues_target(window, &issues);
	if (request->threads)
		xp_issue_add(&issues, "threads_filtered", XP_INFO, json_pack("{s:o}", "threads", xp_json_text(request->threads_pattern)),
			     "only threads whose name matches %s are counted", request->threads_pattern);
	if (c->dropped_aggregates)
		xp_issue_add(&issues, "group_capacity", XP_CAUTION,
			     json_pack("{s:o}", "dropped_aggregates", xp_json_count(c->dropped_aggregates)),
			     "%llu calls found no room and are in no group", (unsigned long long)c->dropped_aggregates);
	out->quality = xp_quality_of(&issues);

	if (c->dropped_aggregates)
		xp_warn(&warnings, "SYSCALL_AGGREGATES_DROPPED",
			json_pack("{s:o}", "dropped_aggregates", xp_json_count(c->dropped_aggregates)),
			"calls were lost to a full table; raise --max-groups or --max-inflight");
	if (c->dropped_aggregates || c->unmatched_exits)
		xp_warn(&warnings, "SYSCALL_LIFECYCLES_UNMATCHED", json_pack("{s:o}", "unmatched_exits", xp_json_count(c->unmatched_exits)),
			"not every call has both its entry and its exit");
	out->head.warnings = warnings.at;
	out->head.n_warnings = warnings.n;
	out->head.status = xp_window_status(window);
}

struct xp_syscalls *xp_syscalls_build(struct xp_syscalls_sum *sum, const struct xp_inventory_request *request,
				      const struct xp_window *window, struct xp_arena *arena)
{
	struct xp_syscalls *out = xp_arena_new_of(arena, struct xp_syscalls);

	out->inventory.name = request->name;
	out->inventory.duration_ms = request->duration_ms;
	make_groups(sum, out, arena);
	make_open(sum, window, out, arena);
	make_threads(sum, out, arena);
	make_rows(sum, window, out, arena);
	make_collection(sum, request, window, out, arena);
	make_notes(request, window, out, arena);
	return out;
}

/* Open calls beyond 16 go first, then the groups with the least time, then the rest of the open calls. */
bool xp_syscalls_shrink(void *opaque)
{
	struct xp_syscalls *value = opaque;
	size_t *groups = &value->inventory.n_groups, *open = &value->n_open_at_end;

	if (*open > 16)
		*open -= 8;
	else if (*groups > 1)
		*groups -= 1 + *groups / 16;
	else if (*open)
		*open -= 1;
	else
		return false;
	value->collection.groups_listed = *groups;
	return true;
}

bool xp_syscalls_empty(const void *opaque)
{
	const struct xp_syscalls *value = opaque;

	return !value->inventory.n_groups && !value->collection.observed_entries;
}
