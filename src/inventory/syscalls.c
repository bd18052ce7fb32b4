/* SPDX-License-Identifier: Apache-2.0 */
/* Inventory `syscalls`. In: the target's calls by way of the BPF engine. Out: struct xp_syscalls. State: the engine and its sums. */
#include "inventory/syscalls.h"

#include <errno.h>
#include <stdlib.h>

#include "inventory/inventory.h"
#include "inventory/peers.h"
#include "inventory/syscalls_build.h"
#include "inventory/thread_filter.h"
#include "engine/engine.h"

/* Contract 6.2 (a run of its own) and 6.6 (triage, where reaching a bound must be rare). */
enum { GROUPS = 256, INFLIGHT = 1024, TRIAGE_GROUPS = 4096, TRIAGE_INFLIGHT = 65536, TRIAGE_CELLS = 524288 };

struct state {
	struct xp_target *target; /* borrowed */
	struct xp_inventory_request request;
	struct xp_peer peer; /* engine: struct xp_bpf_syscalls; floor: entry and exit of one call */
	struct xp_syscalls_sum sum;
};

/* A thread or a cell goes to the inventory of its process. */
static int take_thread(void *opaque, const struct xp_sys_thread *thread, struct xp_err *reterr)
{
	const struct xp_peer_group *group = opaque;
	struct state *state = xp_peer_at(group, xp_sys_target_of_thread(thread));

	if (state)
		xp_syscalls_sum_thread(&state->sum, thread, &state->peer.err);
	return 0;
}

static int take_cell(void *opaque, const struct xp_sys_key *key, const struct xp_sys_cell *cell, struct xp_err *reterr)
{
	const struct xp_peer_group *group = opaque;
	struct state *state = xp_peer_at(group, xp_sys_target_of_cell(key));

	if (state)
		xp_syscalls_sum_cell(&state->sum, key, cell, &state->peer.err);
	return 0;
}

static int attach(void *engine, struct xp_err *reterr)
{
	return xp_bpf_syscalls_attach(engine, reterr);
}

static int detach(void *engine, struct xp_err *reterr)
{
	return xp_bpf_syscalls_detach(engine, reterr);
}

static int start(void *engine, uint64_t start_ns, struct xp_err *reterr)
{
	xp_bpf_syscalls_start(engine);
	return 0;
}

static int stop(void *engine, struct xp_err *reterr)
{
	return xp_bpf_syscalls_stop(engine, reterr);
}

static int drain_all(struct xp_peer_group *group, struct xp_err *reterr)
{
	const struct xp_bpf_syscalls_sink sink = { take_thread, take_cell, group };

	return xp_bpf_syscalls_drain(group->engine, &sink, reterr);
}

static int collect_all(struct xp_peer_group *group, struct xp_err *reterr)
{
	const struct xp_bpf_syscalls_sink sink = { take_thread, take_cell, group };
	struct xp_sys_thread lost;

	for (size_t i = 0; i < group->targets.n; i++) {
		struct state *state = xp_peer_at(group, i);

		if (!state)
			continue;
		xp_bpf_syscalls_lost(group->engine, i, &lost);
		xp_syscalls_sum_lost(&state->sum, &lost);
	}
	return xp_bpf_syscalls_collect(group->engine, &sink, reterr);
}

static void free_engine(void *engine)
{
	xp_bpf_syscalls_free(engine);
}

static const struct xp_peer_ops peer_ops = {
	.attach = attach,
	.detach = detach,
	.start = start,
	.stop = stop,
	.drain = drain_all,
	.collect = collect_all,
	.free_engine = free_engine,
};

static void free_state(void *opaque)
{
	struct state *state = opaque;

	if (!state)
		return;
	xp_peer_leave(&state->peer);
	xp_syscalls_sum_done(&state->sum);
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
	rc = xp_peer_join(&state->peer, request->peers, XP_PEER_SYSCALLS, &peer_ops, xp_target_pid(target), state, reterr);
	if (rc) {
		free_state(state);
		return rc;
	}
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
	struct xp_peer_group *group = state->peer.group;
	const struct xp_bpf_syscalls_config config = {
		.targets = group->targets,
		.max_groups = (uint32_t)state->request.max_groups,
		.max_inflight = (uint32_t)state->request.max_inflight,
		.max_cells = state->request.for_triage ? TRIAGE_CELLS : 0,
	};
	struct xp_bpf_syscalls *engine;

	if (group->engine)
		return 0;
	int rc = xp_bpf_syscalls_floor(xp_peer_several(&state->peer), &group->floor_ns[0], reterr);
	if (!rc)
		rc = xp_bpf_syscalls_load(&config, &engine, reterr);
	if (!rc)
		group->engine = engine;
	return rc;
}

static int arm(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;

	return xp_peer_arm(&state->peer, reterr);
}

static int open_window(void *opaque, uint64_t start_ns, struct xp_err *reterr)
{
	struct state *state = opaque;

	return xp_peer_open(&state->peer, start_ns, reterr);
}

static int drain(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;

	return xp_peer_drain(&state->peer, reterr);
}

static void close_window(void *opaque, uint64_t end_ns)
{
	struct state *state = opaque;

	xp_peer_close(&state->peer);
}

static int disarm(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;

	return xp_peer_disarm(&state->peer, reterr);
}

/* The floor is that of a pair; contract 15.2 multiplies it with single events. */
static uint64_t floor_ns(void *opaque)
{
	const struct state *state = opaque;

	return state->peer.group->floor_ns[0] / 2;
}

static void cost(void *opaque, uint64_t *ret_ns, uint64_t *ret_events)
{
	const struct state *state = opaque;
	const struct xp_peer *peer = &state->peer;

	*ret_events = peer->group->engine ? xp_bpf_syscalls_events(peer->group->engine, peer->at) : 0;
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
