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
#include "inventory/peers.h"
#include "inventory/thread_filter.h"

enum { MIN_BLOCK_US = 1000, DEPTH = 64, GROUPS = 256, TRIAGE_GROUPS = 4096 };
/* Stacks of blocked threads, and then names, stop here; what is not done by then is counted. */
#define OUTSIDE_NS UINT64_C(500000000)
#define NAMING_NS UINT64_C(2000000000)

struct state {
	struct xp_target *target; /* borrowed */
	struct xp_inventory_request request;
	struct xp_peer peer; /* engine: struct xp_bpf_sched; floors: FLOOR_* */
	struct xp_unwinder *unwinder;
	struct xp_python *python;
	struct xp_off_cpu_sum sum;
	uint64_t naming_ns;
};
enum { FLOOR_SWITCH, FLOOR_EXIT };

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A sample or a thread goes to the inventory of its process. */
static int take_sample(void *opaque, const struct xp_rec_sample *sample, struct xp_err *reterr)
{
	const struct xp_peer_group *group = opaque;
	struct state *state = xp_peer_at(group, xp_bpf_target_index(&group->targets, sample->pid));

	if (state)
		xp_off_cpu_sum_sample(&state->sum, sample, &state->peer.err);
	return 0;
}

static int take_thread(void *opaque, const struct xp_sched_thread *thread, struct xp_err *reterr)
{
	const struct xp_peer_group *group = opaque;
	struct state *state = xp_peer_at(group, thread->target);

	if (state)
		xp_off_cpu_sum_thread(&state->sum, thread, &state->peer.err);
	return 0;
}

static int attach(void *engine, struct xp_err *reterr)
{
	return xp_bpf_sched_attach(engine, reterr);
}

static int detach(void *engine, struct xp_err *reterr)
{
	return xp_bpf_sched_detach(engine, reterr);
}

static int start(void *engine, uint64_t start_ns, struct xp_err *reterr)
{
	xp_bpf_sched_start(engine, start_ns);
	return 0;
}

static int stop(void *engine, struct xp_err *reterr)
{
	return xp_bpf_sched_stop(engine, reterr);
}

static int drain_all(struct xp_peer_group *group, struct xp_err *reterr)
{
	const struct xp_bpf_sched_sink sink = { take_sample, take_thread, group };

	return xp_bpf_sched_drain(group->engine, &sink, reterr);
}

/* Blocked threads, while the engine lists them: each process has its own reader. */
struct look {
	const struct xp_peer_group *group;
	struct xp_off_cpu_wait waits[XP_TARGETS_MAX];
};

static int look_at_thread(void *opaque, const struct xp_sched_thread *thread, struct xp_err *reterr)
{
	struct look *look = opaque;
	struct state *state = xp_peer_at(look->group, thread->target);

	if (state)
		xp_off_cpu_wait_thread(&look->waits[thread->target], thread, &state->peer.err);
	return 0;
}

/* As soon as it can be after the window, before the links are closed, which takes a while: blocks that end meanwhile have no stack. */
static void look_at_blocked(struct xp_peer_group *group)
{
	struct look look = { .group = group };
	struct xp_bpf_sched_sink sink = { .thread = look_at_thread, .arg = &look };
	uint64_t deadline_ns = now_ns() + OUTSIDE_NS;
	xp_auto_err err = { 0 };

	for (size_t i = 0; i < group->targets.n; i++) {
		struct state *state = xp_peer_at(group, i);

		if (!state)
			continue;
		look.waits[i] = (struct xp_off_cpu_wait){ .sum = &state->sum, .target = state->target, .deadline_ns = deadline_ns };
		xp_off_cpu_wait_init(&look.waits[i], &state->peer.err);
	}
	int rc = xp_bpf_sched_list(group->engine, &sink, &err);
	for (size_t i = 0; i < group->targets.n; i++) {
		struct state *state = xp_peer_at(group, i);

		xp_off_cpu_wait_done(&look.waits[i]);
		if (rc && state)
			xp_fail(&state->peer.err, err.code, "%s", err.message);
	}
}

static int collect_all(struct xp_peer_group *group, struct xp_err *reterr)
{
	const struct xp_bpf_sched_sink sink = { take_sample, take_thread, group };

	return xp_bpf_sched_collect(group->engine, &sink, reterr);
}

static void free_engine(void *engine)
{
	xp_bpf_sched_free(engine);
}

static const struct xp_peer_ops peer_ops = {
	.attach = attach,
	.detach = detach,
	.start = start,
	.stop = stop,
	.drain = drain_all,
	.look = look_at_blocked,
	.collect = collect_all,
	.free_engine = free_engine,
};

static void free_state(void *opaque)
{
	struct state *state = opaque;

	if (!state)
		return;
	xp_peer_leave(&state->peer);
	xp_off_cpu_sum_done(&state->sum);
	xp_unwinder_free(state->unwinder);
	xp_python_free(state->python);
	free(state);
}

static void fill_request(struct state *state, const struct xp_inventory_request *request)
{
	state->request = *request;
	if (!request->min_block_us)
		state->request.min_block_us = MIN_BLOCK_US;
	if (!request->stack_depth)
		state->request.stack_depth = DEPTH;
	if (!request->max_groups)
		state->request.max_groups = request->for_triage ? TRIAGE_GROUPS : GROUPS;
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
	rc = xp_peer_join(&state->peer, request->peers, XP_PEER_OFF_CPU, &peer_ops, xp_target_pid(target), state, reterr);
	if (rc) {
		free_state(state);
		return rc;
	}
	state->target = target;
	rc = xp_python_open(target, &state->python, reterr);
	if (rc) {
		free_state(state);
		return rc;
	}
	xp_peer_python(&state->peer, xp_python_layout(state->python));
	fill_request(state, request);
	state->naming_ns = NAMING_NS / state->peer.group->targets.n;
	state->sum.arena = arena;
	state->sum.filter = request->threads;
	state->sum.min_block_ns = state->request.min_block_us * 1000;
	*ret_state = state;
	return 0;
}

static int load_engine(struct state *state, struct xp_err *reterr)
{
	struct xp_peer_group *group = state->peer.group;
	struct xp_bpf_sched_config config = {
		.targets = group->targets,
		.min_block_ns = state->sum.min_block_ns,
		.python = xp_peer_several(&state->peer) ? NULL : xp_python_layout(state->python),
	};
	struct xp_bpf_sched_floor floor;
	struct xp_bpf_sched *engine;
	int rc = xp_bpf_sched_floor(xp_peer_several(&state->peer), &floor, reterr);

	if (!rc)
		rc = xp_bpf_sched_load(&config, &engine, reterr);
	if (rc)
		return rc;
	group->floor_ns[FLOOR_SWITCH] = floor.switch_ns;
	group->floor_ns[FLOOR_EXIT] = floor.exit_ns;
	group->engine = engine;
	return 0;
}

static int prepare(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;
	struct xp_peer *peer = &state->peer;
	int rc = xp_unwinder_new(state->target, &state->unwinder, reterr);

	if (rc)
		return rc;
	state->sum.stacks.unwinder = state->unwinder;
	state->sum.stacks.python = state->python;
	rc = xp_raw_stacks_init(&state->sum.stacks, reterr);
	if (!rc && !peer->group->engine)
		rc = load_engine(state, reterr);
	if (!rc && xp_peer_several(peer))
		rc = xp_bpf_sched_python(peer->group->engine, peer->at, xp_python_layout(state->python), reterr);
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

	state->sum.start_ns = start_ns;
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

	state->sum.end_ns = end_ns;
	xp_peer_close(&state->peer);
}

static int disarm(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;

	return xp_peer_disarm(&state->peer, reterr);
}

static uint64_t floor_ns(void *opaque)
{
	const struct state *state = opaque;
	const uint64_t *floors = state->peer.group->floor_ns;

	return floors[FLOOR_SWITCH] > floors[FLOOR_EXIT] ? floors[FLOOR_SWITCH] : floors[FLOOR_EXIT];
}

static void cost(void *opaque, uint64_t *ret_ns, uint64_t *ret_events)
{
	const struct state *state = opaque;
	const struct xp_peer_group *group = state->peer.group;
	uint64_t switches = 0, exits = 0;

	if (group->engine)
		xp_bpf_sched_events(group->engine, state->peer.at, &switches, &exits);
	*ret_events = switches + exits;
	*ret_ns = switches * group->floor_ns[FLOOR_SWITCH] + exits * group->floor_ns[FLOOR_EXIT];
}

static int finish(void *opaque, const struct xp_window *window, struct xp_arena *arena, void **ret_value, struct xp_err *reterr)
{
	struct state *state = opaque;
	struct xp_named_stacks named = { .arena = arena };
	struct xp_sched_lost lost = { 0 };
	int rc = xp_named_stacks_build(&named, &state->sum.stacks, state->target, now_ns() + state->naming_ns,
				       (uint32_t)state->request.stack_depth, reterr);

	if (state->peer.group->engine)
		xp_bpf_sched_lost(state->peer.group->engine, state->peer.at, &lost);
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
