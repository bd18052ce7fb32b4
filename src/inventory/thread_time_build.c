// SPDX-License-Identifier: Apache-2.0
/* Books each thread's time as on a CPU, waiting for one, or blocked, and what no thread shows as vanished. No state. */
#include "inventory/thread_time_build.h"

#include <stdlib.h>
#include <string.h>

#include "base/regex.h"
#include "target/thread_pattern.h"

enum { LONGEST_TICK_NS = 10000000, BLOCKS_PER_SECOND = 5 };

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * The kernel adds a wait for a CPU to its counter when the wait ends. A thread that every look since runnable_since_ns showed runnable
 * with unmoved counters has waited at least that long.
 */
static uint64_t wait_in_progress(const struct xp_proc_thread *row)
{
	return row->state == 'R' && row->runnable_since_ns && !row->ended ? minus(row->last.t_ns, row->runnable_since_ns) : 0;
}

/* The thread of our agent in a CUDA process: it works for us, and no rule may take it for the target's. */
static bool is_agent(const char *name)
{
	return !strcmp(name, "xprobe-agent");
}

static struct xp_thread_row make_row(const struct xp_thread_readings *in, const struct xp_proc_thread *from, struct xp_arena *arena)
{
	struct xp_thread_row row = { .tid = from->tid, .started = from->started, .ended = from->ended };
	uint64_t window_ns = minus(in->end_ns, in->start_ns);
	uint64_t wait = from->last.sched.wait_ns - from->base.sched.wait_ns;

	row.name = xp_utf8_clean(arena, from->comm, strnlen(from->comm, sizeof(from->comm)));
	row.name_pattern = xp_thread_pattern(arena, from->comm);
	row.state = from->state ? xp_arena_dup(arena, &from->state, 1) : NULL;
	row.on_cpu_ns = from->last.sched.cpu_ns - from->base.sched.cpu_ns;
	row.wall_ns = from->last.t_ns - from->base.t_ns;
	if (from->started && row.wall_ns < row.on_cpu_ns + wait)
		row.wall_ns = row.on_cpu_ns + wait; /* it lived before the sweep that found it */
	row.runqueue_ns = least(wait, minus(row.wall_ns, row.on_cpu_ns));
	row.blocked_ns = minus(row.wall_ns, row.on_cpu_ns + row.runqueue_ns);
	row.waiting_ns = least(wait_in_progress(from), row.blocked_ns);
	row.runqueue_ns += row.waiting_ns;
	row.blocked_ns -= row.waiting_ns;
	row.major_faults = minus(from->faults, from->base_faults);
	row.voluntary_switches = minus(from->status.voluntary, from->base_voluntary);
	row.involuntary_switches = minus(from->status.involuntary, from->base_involuntary);
	row.active = !is_agent(row.name) &&
		     (row.on_cpu_ns * 100 >= window_ns || row.voluntary_switches * 1000000000u >= window_ns * BLOCKS_PER_SECOND);
	row.cpus_allowed = from->status.cpus_allowed[0] ? xp_arena_str(arena, from->status.cpus_allowed) : NULL;
	if (from->syscall_nr >= 0 && from->syscall_nr <= UINT32_MAX)
		row.syscall_number = (struct xp_opt_u32)XP_SOME((uint32_t)from->syscall_nr);
	row.wait_channel = from->wchan[0] ? xp_utf8_clean(arena, from->wchan, strlen(from->wchan)) : NULL;
	return row;
}

static int busiest_first(const void *a, const void *b)
{
	const struct xp_thread_row *x = a, *y = b;
	uint64_t p = x->on_cpu_ns + x->runqueue_ns, q = y->on_cpu_ns + y->runqueue_ns;

	if (p != q)
		return p > q ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static int largest_group_first(const void *a, const void *b)
{
	const struct xp_thread_group *x = a, *y = b;
	uint64_t p = x->on_cpu_ns + x->runqueue_ns, q = y->on_cpu_ns + y->runqueue_ns;

	if (p != q)
		return p > q ? -1 : 1;
	if (x->threads != y->threads)
		return x->threads > y->threads ? -1 : 1;
	return strcmp(x->name_pattern, y->name_pattern);
}

static void add_to_group(struct xp_thread_group *group, uint32_t threads, uint64_t on_cpu, uint64_t runqueue, uint64_t blocked)
{
	group->threads += threads;
	group->on_cpu_ns += on_cpu;
	group->runqueue_ns += runqueue;
	group->blocked_ns += blocked;
}

static int by_pattern(const void *a, const void *b)
{
	return strcmp(((const struct xp_thread_row *)a)->name_pattern, ((const struct xp_thread_row *)b)->name_pattern);
}

/* Sums by pattern over a copy of the rows sorted by pattern, then the largest XP_MAX_PATTERNS - 1 and one "*" for the rest. */
static void make_groups(struct xp_thread_time *value, struct xp_arena *arena)
{
	size_t n = value->n_threads, found = 0;
	struct xp_thread_row *rows = xp_arena_array(arena, struct xp_thread_row, n + 1);
	struct xp_thread_group *groups = xp_arena_array(arena, struct xp_thread_group, n + 1);

	if (n)
		memcpy(rows, value->threads, n * sizeof(*rows));
	qsort(rows, n, sizeof(*rows), by_pattern);
	for (size_t i = 0; i < n; i++) {
		if (!found || strcmp(groups[found - 1].name_pattern, rows[i].name_pattern))
			groups[found++].name_pattern = rows[i].name_pattern;
		add_to_group(&groups[found - 1], 1, rows[i].on_cpu_ns, rows[i].runqueue_ns, rows[i].blocked_ns);
	}
	qsort(groups, found, sizeof(*groups), largest_group_first);
	if (found > XP_MAX_PATTERNS) {
		struct xp_thread_group rest = { .name_pattern = "*" };

		for (size_t i = XP_MAX_PATTERNS - 1; i < found; i++)
			add_to_group(&rest, groups[i].threads, groups[i].on_cpu_ns, groups[i].runqueue_ns, groups[i].blocked_ns);
		groups[XP_MAX_PATTERNS - 1] = rest;
		found = XP_MAX_PATTERNS;
	}
	value->groups = groups;
	value->n_groups = found;
}

/*
 * CPU time that no thread's readings show. The counter of a running thread is as old as the last tick, so a difference of one tick for
 * each thread that can run at a time says nothing.
 */
static uint64_t vanished(const struct xp_thread_readings *in, uint32_t n_cpus)
{
	uint64_t seen = 0, runnable = 0;

	for (size_t i = 0; i < in->n; i++) {
		seen += in->rows[i].last.sched.cpu_ns - in->rows[i].base.sched.cpu_ns;
		runnable += in->rows[i].state == 'R';
	}
	uint64_t gap = in->process_cpu_ns.set ? minus(in->process_cpu_ns.v, seen) : 0;
	uint64_t stale = least(runnable, n_cpus ? n_cpus : 1) * LONGEST_TICK_NS;
	return gap > stale ? gap : 0;
}

static int busiest_child_first(const void *a, const void *b)
{
	const struct xp_child_row *x = a, *y = b;

	if (x->on_cpu_ns != y->on_cpu_ns)
		return x->on_cpu_ns > y->on_cpu_ns ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void make_children(struct xp_thread_time *value, const struct xp_tree *tree, struct xp_arena *arena)
{
	struct xp_child_row *rows = xp_arena_array(arena, struct xp_child_row, tree->n + 1);

	for (size_t i = 0; i < tree->n; i++) {
		const struct xp_tree_node *node = &tree->nodes[i];

		rows[i] = (struct xp_child_row){
			.pid = node->pid,
			.parent_pid = node->ppid,
			.name = xp_utf8_clean(arena, node->comm, strnlen(node->comm, sizeof(node->comm))),
			.on_cpu_ns = minus(node->last_ns, node->base_ns),
			.started = node->started,
			.ended = node->ended,
		};
	}
	qsort(rows, tree->n, sizeof(*rows), busiest_child_first);
	value->children = rows;
	value->n_children = tree->n;
	value->children_total = tree->total;
	value->children_complete = tree->complete;
	value->children_cpu_ns = xp_tree_cpu_ns(tree);
}

static void add_totals(struct xp_thread_time *value, const struct xp_thread_row *row)
{
	value->count++;
	value->active += row->active;
	value->started += row->started;
	value->ended += row->ended;
	value->on_cpu_ns += row->on_cpu_ns;
	value->runqueue_ns += row->runqueue_ns;
	value->blocked_ns += row->blocked_ns;
	value->voluntary_switches += row->voluntary_switches;
	value->involuntary_switches += row->involuntary_switches;
	value->runnable_at_end += !row->ended && row->state && row->state[0] == 'R';
}

/* The listed rows and their totals. */
static int make_rows(const struct xp_thread_readings *in, struct xp_arena *arena, struct xp_thread_time *value, struct xp_err *reterr)
{
	struct xp_thread_row *rows = xp_arena_array(arena, struct xp_thread_row, in->n + 1);

	for (size_t i = 0; i < in->n; i++) {
		const char *comm = in->rows[i].comm;
		int found = in->threads ? xp_regex_search(in->threads, comm, strnlen(comm, sizeof(in->rows[i].comm)), reterr) : 1;

		if (found < 0)
			return found;
		if (!found)
			continue;
		rows[value->n_threads] = make_row(in, &in->rows[i], arena);
		add_totals(value, &rows[value->n_threads++]);
	}
	qsort(rows, value->n_threads, sizeof(*rows), busiest_first);
	value->threads = rows;
	return 0;
}

int xp_thread_time_build(const struct xp_thread_readings *in, struct xp_arena *arena, struct xp_thread_time **ret_value,
			 struct xp_err *reterr)
{
	struct xp_thread_time *value = xp_arena_new_of(arena, struct xp_thread_time);
	int error = make_rows(in, arena, value, reterr);

	if (error)
		return error;
	value->window_ns = minus(in->end_ns, in->start_ns);
	value->threads_pattern = xp_arena_str(arena, in->threads_pattern);
	value->process_cpu_ns = in->process_cpu_ns;
	value->major_faults = in->process_major_faults;
	value->missed_threads = in->missed;
	value->sweeps = in->sweeps;
	value->sweep_cpu_ns = in->sweep_cpu_ns;
	for (size_t i = 0; i < in->n; i++)
		if (in->rows[i].tid == in->pid && in->rows[i].status.cpus_allowed[0]) {
			value->cpus_allowed = xp_arena_str(arena, in->rows[i].status.cpus_allowed);
			value->n_cpus_allowed = xp_cpu_list_count(value->cpus_allowed);
		}
	value->vanished_cpu_ns = vanished(in, value->n_cpus_allowed);
	make_groups(value, arena);
	if (in->tree)
		make_children(value, in->tree, arena);
	*ret_value = value;
	return 0;
}

const struct xp_thread_row *xp_thread_time_find(const struct xp_thread_time *value, uint32_t tid)
{
	for (size_t i = 0; i < value->n_threads; i++)
		if (value->threads[i].tid == tid && !value->threads[i].ended)
			return &value->threads[i];
	for (size_t i = 0; i < value->n_threads; i++)
		if (value->threads[i].tid == tid)
			return &value->threads[i];
	return NULL;
}
