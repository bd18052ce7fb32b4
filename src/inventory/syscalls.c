/* SPDX-License-Identifier: Apache-2.0 */
/* Inventory `syscalls`. In: the target's calls by way of the BPF engine. Out: struct xp_syscalls. State: the engine and its sums. */
#include "inventory/syscalls.h"

#include <errno.h>
#include <stdlib.h>

#include "inventory/inventory.h"
#include "inventory/syscalls_build.h"
#include "inventory/thread_filter.h"
#include "engine/engine.h"

/* Contract 6.2 (a run of its own) and 6.6 (triage, where reaching a bound must be rare). */
enum { GROUPS = 256, INFLIGHT = 1024, TRIAGE_GROUPS = 4096, TRIAGE_INFLIGHT = 65536, TRIAGE_CELLS = 524288 };

struct state {
	struct xp_target *target; /* borrowed */
	struct xp_inventory_request request;
	struct xp_bpf_syscalls *engine;
	struct xp_syscalls_sum sum;
	uint64_t floor_ns; /* entry and exit of one call */
	bool opened;
	struct xp_err stop_err;
};

static void free_state(void *opaque)
{
	struct state *state = opaque;

	if (!state)
		return;
	xp_bpf_syscalls_free(state->engine);
	xp_syscalls_sum_done(&state->sum);
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
		return xp_fail_sys(reterr, ENOMEM, "calloc", "system call inventory");
	state->target = target;
	state->request = *request;
	if (!request->max_groups)
		state->request.max_groups = request->for_triage ? TRIAGE_GROUPS : GROUPS;
	if (!request->max_inflight)
		state->request.max_inflight = request->for_triage ? TRIAGE_INFLIGHT : INFLIGHT;
	state->sum.arena = arena;
	state->sum.filter = request->threads;
	*ret_state = state;
	return 0;
}

static int prepare(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;
	const struct xp_bpf_syscalls_config config = {
		.pid = xp_target_pid(state->target),
		.max_groups = (uint32_t)state->request.max_groups,
		.max_inflight = (uint32_t)state->request.max_inflight,
		.max_cells = state->request.for_triage ? TRIAGE_CELLS : 0,
	};
	int rc = xp_bpf_syscalls_floor(&state->floor_ns, reterr);

	return rc ? rc : xp_bpf_syscalls_load(&config, &state->engine, reterr);
}

static int arm(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;

	return xp_bpf_syscalls_attach(state->engine, reterr);
}

static int open_window(void *opaque, uint64_t start_ns, struct xp_err *reterr)
{
	struct state *state = opaque;

	xp_bpf_syscalls_start(state->engine);
	state->opened = true;
	return 0;
}

static struct xp_bpf_syscalls_sink sink_of(struct state *state)
{
	return (struct xp_bpf_syscalls_sink){ xp_syscalls_sum_thread, xp_syscalls_sum_cell, &state->sum };
}

static int drain(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;
	struct xp_bpf_syscalls_sink sink = sink_of(state);

	return xp_bpf_syscalls_drain(state->engine, &sink, reterr);
}

static void close_window(void *opaque, uint64_t end_ns)
{
	struct state *state = opaque;

	xp_bpf_syscalls_stop(state->engine, &state->stop_err);
}

static int disarm(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;
	struct xp_bpf_syscalls_sink sink = sink_of(state);
	struct xp_sys_thread lost;

	if (!state->engine)
		return 0;
	int rc = xp_bpf_syscalls_detach(state->engine, reterr);
	if (!rc && state->stop_err.code)
		return xp_err_move(reterr, &state->stop_err);
	if (rc || !state->opened)
		return rc;
	xp_bpf_syscalls_lost(state->engine, &lost);
	xp_syscalls_sum_lost(&state->sum, &lost);
	return xp_bpf_syscalls_collect(state->engine, &sink, reterr);
}

/* The floor is that of a pair; contract 15.2 multiplies it with single events. */
static uint64_t floor_ns(void *opaque)
{
	const struct state *state = opaque;

	return state->floor_ns / 2;
}

static void cost(void *opaque, uint64_t *ret_ns, uint64_t *ret_events)
{
	const struct state *state = opaque;

	*ret_events = state->engine ? xp_bpf_syscalls_events(state->engine) : 0;
	*ret_ns = *ret_events * floor_ns(opaque);
}

static int finish(void *opaque, const struct xp_window *window, struct xp_arena *arena, void **ret_value, struct xp_err *reterr)
{
	struct state *state = opaque;

	*ret_value = xp_syscalls_build(&state->sum, &state->request, window, arena);
	return 0;
}

static const struct xp_collector_ops ops = {
	.name = "syscalls",
	.prepare = prepare,
	.arm = arm,
	.open = open_window,
	.drain = drain,
	.close_window = close_window,
	.disarm = disarm,
	.cost = cost,
	.floor_ns = floor_ns,
};

const struct xp_inventory_kind xp_inventory_syscalls = {
	.name = "syscalls",
	.summary = "every system call with its count, time, errors, and the calls that do not return",
	.flag = "--syscall-aggregate",
	.engine = &xp_engine_bpf_syscalls,
	.ops = &ops,
	.record = &xp_syscalls_record,
	.open = open_inventory,
	.finish = finish,
	.free = free_state,
	.shrink = xp_syscalls_shrink,
	.report = xp_syscalls_report,
	.empty = xp_syscalls_empty,
};
