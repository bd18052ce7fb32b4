// SPDX-License-Identifier: Apache-2.0
/* Inventory `threads`: readings of /proc at the window's ends and about each 100 ms in it. In: the target. Out: struct xp_thread_time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inventory/inventory.h"
#include "inventory/thread_filter.h"
#include "inventory/thread_time_build.h"

enum { MAX_THREADS = 65536, SWEEP_NS = 100000000, SWEEP_SHARE = 20 };

struct state {
	struct xp_target *target; /* borrowed */
	struct xp_proc_poll *poll;
	struct xp_tree *tree;
	const char *threads_pattern;
	const struct xp_regex *threads;
	uint64_t next_sweep_ns;
	struct xp_opt_u64 base_cpu_ns, cpu_ns;
	uint64_t base_faults, faults;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void free_state(void *opaque)
{
	struct state *state = opaque;

	if (!state)
		return;
	xp_proc_poll_free(state->poll);
	xp_tree_free(state->tree);
	free(state);
}
XP_DEFINE_AUTO(struct state *, free_state);

static int open_inventory(const struct xp_inventory_request *request, struct xp_target *target, struct xp_arena *arena, void **ret_state,
			  struct xp_err *reterr)
{
	xp_auto(free_state) struct state *state = calloc(1, sizeof(*state));
	int error = request->threads ? xp_thread_filter_check(request, target, arena, reterr) : 0;

	if (error)
		return error;
	if (!state)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "thread readings");
	state->target = target;
	state->threads = request->threads;
	state->threads_pattern = request->threads_pattern;
	int fd = xp_target_openat(target, "task");
	if (fd < 0)
		return xp_fail_sys(reterr, -fd, "open", "/proc/%u/task", xp_target_pid(target));
	error = xp_proc_poll_new(fd, request->max_threads ? request->max_threads : MAX_THREADS, 0, &state->poll, reterr);
	if (error)
		return error;
	state->tree = request->no_tree ? NULL : xp_tree_new(xp_target_pid(target));
	if (!state->tree && !request->no_tree)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "process tree");
	*ret_state = xp_steal(&state);
	return 0;
}

/* CPU clock and fault counter of the whole process; what can't be read any more stays at its last value. */
static void read_process(struct state *state)
{
	xp_auto_err ignored = { 0 }; /* the target is gone: the window loop tells it */
	uint64_t cpu_ns;
	struct xp_stat stat;

	if (!xp_target_cpu_ns(state->target, &cpu_ns, &ignored))
		state->cpu_ns = (struct xp_opt_u64)XP_SOME(cpu_ns);
	if (!xp_target_stat(state->target, 0, &stat, &ignored))
		state->faults = stat.major_faults;
}

/* The next sweep, so that sweeping takes at most one part in SWEEP_SHARE of one CPU. */
static void plan_sweep(struct state *state, uint64_t began_ns)
{
	uint64_t now = now_ns(), pause = (now - began_ns) * SWEEP_SHARE;

	state->next_sweep_ns = now + (pause > SWEEP_NS ? pause : SWEEP_NS);
}

/* The walk over /proc is done here because the window's opening must be quick. */
static int prepare(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;

	if (state->tree)
		xp_tree_begin(state->tree);
	return 0;
}

static int arm(void *opaque, struct xp_err *reterr)
{
	return 0; /* nothing is attached */
}

static int open_window(void *opaque, uint64_t start_ns, struct xp_err *reterr)
{
	struct state *state = opaque;
	uint64_t began = now_ns();

	read_process(state);
	state->base_cpu_ns = state->cpu_ns;
	state->base_faults = state->faults;
	if (state->tree)
		xp_tree_rebase(state->tree);
	int error = xp_proc_poll_begin(state->poll, reterr);
	plan_sweep(state, began);
	return error;
}

static int drain(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;
	uint64_t began = now_ns();
	xp_auto_err error = { 0 };

	if (began < state->next_sweep_ns)
		return 0;
	read_process(state);
	if (xp_proc_poll_sweep(state->poll, &error) && error.code != XP_E_TARGET_EXITED)
		return xp_err_move(reterr, &error);
	plan_sweep(state, began); /* the end of the target is the window loop's business */
	return 0;
}

static void close_window(void *opaque, uint64_t end_ns)
{
	struct state *state = opaque;

	read_process(state);
	xp_proc_poll_end(state->poll);
}

/* The second walk over /proc comes when the readings of all processes are taken. */
static int disarm(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;

	if (state->tree)
		xp_tree_end(state->tree);
	return 0;
}

static void cost(void *opaque, uint64_t *ret_ns, uint64_t *ret_events)
{
	*ret_ns = 0; /* readings run on xprobe's own CPU time, see sweep_cpu_ns */
	*ret_events = 0;
}

static int finish(void *opaque, const struct xp_window *window, struct xp_arena *arena, void **ret_value, struct xp_err *reterr)
{
	struct state *state = opaque;
	struct xp_thread_readings in = {
		.pid = xp_target_pid(state->target),
		.start_ns = window->start_ns,
		.end_ns = window->end_ns,
		.missed = xp_proc_poll_missed(state->poll),
		.process_major_faults = state->faults - state->base_faults,
		.tree = state->tree,
		.threads_pattern = state->threads_pattern,
		.threads = state->threads,
	};
	struct xp_thread_time *value;

	in.rows = xp_proc_poll_threads(state->poll, &in.n);
	in.sweeps = xp_proc_poll_sweeps(state->poll, &in.sweep_cpu_ns);
	if (state->base_cpu_ns.set && state->cpu_ns.set)
		in.process_cpu_ns = (struct xp_opt_u64)XP_SOME(state->cpu_ns.v - state->base_cpu_ns.v);
	int error = xp_thread_time_build(&in, arena, &value, reterr);
	if (!error)
		*ret_value = value;
	return error;
}

static const struct xp_collector_ops ops = {
	.name = "threads",
	.prepare = prepare,
	.arm = arm,
	.open = open_window,
	.drain = drain,
	.close_window = close_window,
	.disarm = disarm,
	.cost = cost,
};

const struct xp_inventory_kind xp_inventory_thread_time = {
	.name = "threads",
	.summary = "where each thread's time went: on a CPU, waiting for one, blocked",
	.ops = &ops,
	.record = &xp_thread_time_record,
	.open = open_inventory,
	.finish = finish,
	.free = free_state,
};
