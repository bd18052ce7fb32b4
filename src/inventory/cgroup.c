// SPDX-License-Identifier: Apache-2.0
/* Inventory `cgroup`: counters of the target's cpu group and its ancestors at both ends of the window. Out: struct xp_cgroup. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "inventory/cgroup_build.h"
#include "inventory/inventory.h"

struct state {
	struct xp_target *target; /* borrowed */
	struct xp_arena *arena;	  /* borrowed */
	struct xp_cgroup_place place;
	const char *directories[XP_CGROUP_MAX_LEVELS];
	struct xp_cgroup_readings readings;
	bool moved;
};

static int open_inventory(const struct xp_inventory_request *request, struct xp_target *target, struct xp_arena *arena, void **ret_state,
			  struct xp_err *reterr)
{
	struct state *state = calloc(1, sizeof(*state));

	if (!state)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "group counters");
	state->target = target;
	state->arena = arena;
	*ret_state = state;
	return 0;
}

static int prepare(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;
	int error = xp_cgroup_find("", xp_target_pid(state->target), state->arena, &state->place, reterr);

	if (error)
		return error;
	for (size_t n = 0; n < XP_CGROUP_MAX_LEVELS; n++) {
		state->directories[n] = xp_cgroup_level_directory(&state->place, n, state->arena);
		if (!state->directories[n])
			break;
		state->readings.n = n + 1;
	}
	return 0;
}

static int arm(void *opaque, struct xp_err *reterr)
{
	return 0; /* nothing is attached */
}

static int open_window(void *opaque, uint64_t start_ns, struct xp_err *reterr)
{
	struct state *state = opaque;

	for (size_t i = 0; i < state->readings.n; i++)
		state->readings.base[i] = xp_cgroup_read(state->directories[i], state->place.version);
	return 0;
}

static int drain(void *opaque, struct xp_err *reterr)
{
	return 0; /* the kernel counts */
}

static void close_window(void *opaque, uint64_t end_ns)
{
	struct state *state = opaque;
	xp_auto_err gone = { 0 };

	for (size_t i = 0; i < state->readings.n; i++)
		state->readings.end[i] = xp_cgroup_read(state->directories[i], state->place.version);
	/* A process that ended is in no group; only a living one can have moved. */
	state->moved = !xp_target_check(state->target, &gone) && !xp_cgroup_has(state->place.directory, xp_target_pid(state->target));
}

static int disarm(void *opaque, struct xp_err *reterr)
{
	return 0;
}

static void cost(void *opaque, uint64_t *ret_ns, uint64_t *ret_events)
{
	*ret_ns = 0;
	*ret_events = 0;
}

static int finish(void *opaque, const struct xp_window *window, struct xp_arena *arena, void **ret_value, struct xp_err *reterr)
{
	struct state *state = opaque;
	struct xp_cgroup *value = xp_cgroup_build(&state->place, &state->readings, arena);

	value->moved = state->moved;
	*ret_value = value;
	return 0;
}

static const struct xp_collector_ops ops = {
	.name = "cgroup",
	.prepare = prepare,
	.arm = arm,
	.open = open_window,
	.drain = drain,
	.close_window = close_window,
	.disarm = disarm,
	.cost = cost,
};

const struct xp_inventory_kind xp_inventory_cgroup = {
	.name = "cgroup",
	.summary = "CPU limits of the target's group and how often they stopped it",
	.ops = &ops,
	.record = &xp_cgroup_record,
	.open = open_inventory,
	.finish = finish,
	.free = free,
};
