/* SPDX-License-Identifier: Apache-2.0 */
/* Inventory `off_cpu`. In: the target's blocks by way of the BPF engine. Out: struct xp_off_cpu_value. State: the engine, the sums, the
 * readers. */
#include "inventory/off_cpu.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
#include "engine/bpf_sched.h"
#include "inventory/inventory.h"
#include "inventory/off_cpu_build.h"
#include "inventory/off_cpu_wait.h"
#include "inventory/thread_filter.h"

enum { MIN_BLOCK_US = 1000, DEPTH = 64, GROUPS = 256, TRIAGE_GROUPS = 4096 };
/* Stacks of blocked threads, and then names, stop here; what is not done by then is counted. */
#define OUTSIDE_NS UINT64_C(500000000)
#define NAMING_NS UINT64_C(2000000000)

struct state {
	struct xp_target *target; /* borrowed */
	struct xp_inventory_request request;
	struct xp_bpf_sched *engine;
	struct xp_bpf_sched_floor floor;
	struct xp_unwinder *unwinder;
	struct xp_python *python;
	struct xp_off_cpu_sum sum;
	bool opened;
	struct xp_err stop_err;
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
	xp_bpf_sched_free(state->engine);
	xp_off_cpu_sum_done(&state->sum);
	xp_unwinder_free(state->unwinder);
	xp_python_free(state->python);
	xp_err_done(&state->stop_err);
	free(state);
}

static int open_inventory(const struct xp_inventory_request *request, struct xp_target *target, struct xp_arena *arena, void **ret_state,
			  struct xp_err *reterr)
{
	int rc = request->threads ? xp_thread_filter_check(request, target, arena, reterr) : 0;

	if (rc)
		return rc;
	struct state *state = calloc(1, sizeof(*state));
	if (!state)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "off-CPU inventory");
	state->target = target;
	state->request = *request;
	if (!request->min_block_us)
		state->request.min_block_us = MIN_BLOCK_US;
	if (!request->stack_depth)
		state->request.stack_depth = DEPTH;
	if (!request->max_groups)
		state->request.max_groups = request->for_triage ? TRIAGE_GROUPS : GROUPS;
	state->sum.arena = arena;
	state->sum.filter = request->threads;
	state->sum.min_block_ns = state->request.min_block_us * 1000;
	*ret_state = state;
	return 0;
}

static int prepare(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;
	struct xp_bpf_sched_config config = { .pid = xp_target_pid(state->target), .min_block_ns = state->sum.min_block_ns };
	int rc = xp_bpf_sched_floor(&state->floor, reterr);

	if (!rc)
		rc = xp_unwinder_new(state->target, &state->unwinder, reterr);
	if (!rc)
		rc = xp_python_open(state->target, &state->python, reterr);
	if (rc)
		return rc;
	config.python = xp_python_layout(state->python);
	state->sum.stacks.unwinder = state->unwinder;
	state->sum.stacks.python = state->python;
	rc = xp_raw_stacks_init(&state->sum.stacks, reterr);
	return rc ? rc : xp_bpf_sched_load(&config, &state->engine, reterr);
}

static int arm(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;

	return xp_bpf_sched_attach(state->engine, reterr);
}

static int open_window(void *opaque, uint64_t start_ns, struct xp_err *reterr)
{
	struct state *state = opaque;

	state->sum.start_ns = start_ns;
	xp_bpf_sched_start(state->engine, start_ns);
	state->opened = true;
	return 0;
}

static struct xp_bpf_sched_sink sink_of(struct state *state)
{
	return (struct xp_bpf_sched_sink){ xp_off_cpu_sum_sample, xp_off_cpu_sum_thread, &state->sum };
}

static int drain(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;
	struct xp_bpf_sched_sink sink = sink_of(state);

	return xp_bpf_sched_drain(state->engine, &sink, reterr);
}

static void close_window(void *opaque, uint64_t end_ns)
{
	struct state *state = opaque;

	state->sum.end_ns = end_ns;
	xp_bpf_sched_stop(state->engine, &state->stop_err);
}

/* As soon as it can be after the window, before the links are closed, which takes a while: blocks that end meanwhile have no stack. */
static int read_blocked(struct state *state, struct xp_err *reterr)
{
	struct xp_off_cpu_wait wait = { .sum = &state->sum, .target = state->target, .deadline_ns = now_ns() + OUTSIDE_NS };
	struct xp_bpf_sched_sink sink = { .thread = xp_off_cpu_wait_thread, .arg = &wait };
	int rc = xp_off_cpu_wait_init(&wait, reterr);

	if (!rc)
		rc = xp_bpf_sched_list(state->engine, &sink, reterr);
	xp_off_cpu_wait_done(&wait);
	return rc;
}

static int disarm(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;
	struct xp_bpf_sched_sink sink = sink_of(state);

	if (!state->engine)
		return 0;
	xp_auto_err unread = { 0 };
	int unread_rc = state->opened && !state->stop_err.code ? read_blocked(state, &unread) : 0;
	int rc = xp_bpf_sched_detach(state->engine, reterr);
	if (!rc && state->stop_err.code)
		return xp_err_move(reterr, &state->stop_err);
	if (rc || !state->opened)
		return rc;
	return unread_rc ? xp_err_move(reterr, &unread) : xp_bpf_sched_collect(state->engine, &sink, reterr);
}

static uint64_t floor_ns(void *opaque)
{
	const struct state *state = opaque;

	return state->floor.switch_ns > state->floor.exit_ns ? state->floor.switch_ns : state->floor.exit_ns;
}

static void cost(void *opaque, uint64_t *ret_ns, uint64_t *ret_events)
{
	const struct state *state = opaque;
	uint64_t switches = 0, exits = 0;

	if (state->engine)
		xp_bpf_sched_events(state->engine, &switches, &exits);
	*ret_events = switches + exits;
	*ret_ns = switches * state->floor.switch_ns + exits * state->floor.exit_ns;
}

static int finish(void *opaque, const struct xp_window *window, struct xp_arena *arena, void **ret_value, struct xp_err *reterr)
{
	struct state *state = opaque;
	struct xp_named_stacks named = { .arena = arena };
	struct xp_sched_lost lost = { 0 };
	int rc = xp_named_stacks_build(&named, &state->sum.stacks, state->target, now_ns() + NAMING_NS,
				       (uint32_t)state->request.stack_depth, reterr);

	if (state->engine)
		xp_bpf_sched_lost(state->engine, &lost);
	if (!rc)
		*ret_value = xp_off_cpu_build(&state->sum, &named, &lost, state->request.max_groups, arena);
	xp_named_stacks_done(&named);
	return rc;
}

static const struct xp_collector_ops ops = {
	.name = "off_cpu",
	.prepare = prepare,
	.arm = arm,
	.open = open_window,
	.drain = drain,
	.close_window = close_window,
	.disarm = disarm,
	.cost = cost,
	.floor_ns = floor_ns,
};

const struct xp_inventory_kind xp_inventory_off_cpu = {
	.name = "off_cpu",
	.summary = "time that threads spent blocked, by reason and stack",
	.ops = &ops,
	.record = &xp_off_cpu_record,
	.open = open_inventory,
	.finish = finish,
	.free = free_state,
	.shrink = xp_off_cpu_shrink,
	.report = xp_report_off_cpu,
};
