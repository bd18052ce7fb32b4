// SPDX-License-Identifier: Apache-2.0
/* Inventory `gpu_health`: the GPUs of the target, read by NVML at both ends of the window and in between. Out: struct xp_gpu_health. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/engine.h"
#include "engine/gpu_holders.h"
#include "engine/nvml_status.h"
#include "inventory/gpu_tally.h"
#include "inventory/inventory.h"
#include "target/gpu_files.h"

/* A reading asks some fifteen calls of each device; five a second tell the state and disturb nobody. */
enum { PERIOD_MS = 200, LIST_MS = 2000, LIST_LEAST_MS = 200, LAST_MS = 500, NS_PER_MS = 1000000 };

struct state {
	struct xp_target *target; /* borrowed */
	struct xp_arena *arena;	  /* borrowed */
	struct xp_nvml *nvml;
	struct xp_nvml_list *list;
	struct xp_gpu_files files;
	struct xp_gpu_holders holders; /* the target alone, or nobody */
	uint64_t devices;	       /* bits: those that are read */
	bool use_known;
	uint64_t list_deadline_ns, next_ns;
	uint32_t missed;
	struct xp_nvml_readings readings;
	struct xp_gpu_tally tally[XP_NVML_MAX_DEVICES];
};

/* The code leads to the reason of the triage's source; the sentence and the call are NVML's. */
static int fail(const struct xp_nvml_fault *fault, struct xp_err *reterr)
{
	return xp_nvml_fail(fault, xp_nvml_fault_code(fault), reterr);
}

/* A target without CUDA has no GPU to look at; where there is no library either, that says more. */
static int refuse_target(struct xp_err *reterr)
{
	struct xp_nvml_fault fault;

	if (!xp_nvml_present(&fault))
		return fail(&fault, reterr);
	int rc = xp_fail(reterr, XP_E_CUDA_CONTEXT_NOT_FOUND, "the target maps no libcuda and holds no GPU");

	reterr->sys_errno = ENOENT;
	return rc;
}

static int open_inventory(const struct xp_inventory_request *request, struct xp_target *target, struct xp_arena *arena, void **ret_state,
			  struct xp_err *reterr)
{
	struct xp_gpu_files files;

	xp_gpu_files_read(target, &files);
	if (!files.libcuda && !files.device)
		return refuse_target(reterr);
	struct state *state = calloc(1, sizeof(*state));
	if (!state)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "GPU readings");
	state->target = target;
	state->arena = arena;
	state->files = files;
	*ret_state = state;
	return 0;
}

static void free_state(void *opaque)
{
	struct state *state = opaque;

	xp_nvml_stop(state->nvml);
	free(state);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int fail_crashed(struct xp_err *reterr)
{
	const struct xp_nvml_fault crashed = { .kind = XP_NVML_CRASHED };

	return fail(&crashed, reterr);
}

/* The library initialises and lists while the other sources get ready. */
static int prepare(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;
	int rc = xp_nvml_start(&state->nvml, reterr);

	if (rc)
		return rc;
	state->list_deadline_ns = now_ns() + LIST_MS * (uint64_t)NS_PER_MS;
	return xp_nvml_ask_list(state->nvml) ? 0 : fail_crashed(reterr);
}

static uint64_t held_by_nvml(const struct state *state)
{
	uint64_t devices = 0;

	for (size_t i = 0; state->holders.n && i < state->holders.at->n_parts; i++)
		devices |= 1ull << state->holders.at->parts[i].device;
	return devices;
}

/* Device files say which GPUs CUDA may use; it opens every one that it is allowed to see. */
static uint64_t held_open(const struct state *state)
{
	uint64_t devices = 0;

	for (uint32_t i = 0; i < state->list->n_devices; i++) {
		const struct xp_opt_u32 *minor = &state->list->devices[i].minor;

		if (minor->set && minor->v < 64 && (state->files.minors >> minor->v & 1))
			devices |= 1ull << i;
	}
	return devices;
}

static int choose_devices(struct state *state, struct xp_err *reterr)
{
	uint32_t n = state->list->n_devices;
	uint64_t all = n < 64 ? (1ull << n) - 1 : ~0ull;

	if (!n)
		return xp_fail(reterr, XP_E_CUPTI_NOT_AVAILABLE, "NVML knows no GPU here");
	xp_gpu_holders_of(state->list, state->target, state->arena, &state->holders);
	state->devices = held_by_nvml(state);
	if (!state->devices)
		state->devices = held_open(state);
	state->use_known = state->devices != 0;
	if (!state->use_known && state->files.readable && !state->files.device)
		return xp_fail(reterr, XP_E_CUDA_CONTEXT_NOT_FOUND, "the target maps libcuda, but holds no GPU");
	if (!state->use_known)
		state->devices = all;
	return 0;
}

/* Children of several targets work side by side, so one hung driver costs its time once. */
static unsigned list_time_left(const struct state *state)
{
	uint64_t at_ns = now_ns(), left_ns = at_ns < state->list_deadline_ns ? state->list_deadline_ns - at_ns : 0;

	return left_ns > LIST_LEAST_MS * NS_PER_MS ? (unsigned)(left_ns / NS_PER_MS) : LIST_LEAST_MS;
}

/* A child that did not answer is not asked again. */
static int arm(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;
	struct xp_nvml_fault fault;

	state->list = xp_arena_new_of(state->arena, struct xp_nvml_list);
	int rc = xp_nvml_take_list(state->nvml, list_time_left(state), state->list, &fault) ? choose_devices(state, reterr)
											    : fail(&fault, reterr);
	if (rc)
		xp_nvml_stop(xp_steal(&state->nvml));
	return rc;
}

static int ask(struct state *state, bool full, struct xp_err *reterr)
{
	return xp_nvml_ask(state->nvml, state->devices, full) ? 0 : fail_crashed(reterr);
}

static int open_window(void *opaque, uint64_t start_ns, struct xp_err *reterr)
{
	struct state *state = opaque;

	state->next_ns = start_ns + PERIOD_MS * NS_PER_MS;
	return ask(state, true, reterr);
}

static void add(struct state *state)
{
	for (uint32_t i = 0; i < state->readings.n; i++)
		if (state->devices >> i & 1)
			xp_gpu_tally_add(&state->tally[i], &state->readings.at[i]);
}

static int drain(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;
	struct xp_nvml_fault fault;
	int took;

	while ((took = xp_nvml_take(state->nvml, 0, &state->readings, &fault)) > 0)
		add(state);
	if (took < 0)
		return fail(&fault, reterr);
	if (now_ns() < state->next_ns)
		return 0;
	state->next_ns += PERIOD_MS * NS_PER_MS;
	if (!xp_nvml_waiting(state->nvml))
		return ask(state, false, reterr);
	state->missed++;
	return 0;
}

/* The last reading is on its way while the other sources are closed; disarm takes it. */
static void close_window(void *opaque, uint64_t end_ns)
{
	struct state *state = opaque;

	if (state->nvml)
		xp_nvml_ask(state->nvml, state->devices, true);
}

static int disarm(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;
	uint64_t deadline_ns = now_ns() + LAST_MS * (uint64_t)NS_PER_MS, at_ns;
	struct xp_nvml_fault fault;

	while (state->nvml && xp_nvml_waiting(state->nvml) && (at_ns = now_ns()) < deadline_ns) {
		if (xp_nvml_take(state->nvml, (unsigned)((deadline_ns - at_ns) / NS_PER_MS), &state->readings, &fault) <= 0)
			break;
		add(state);
	}
	if (state->nvml)
		state->missed += xp_nvml_waiting(state->nvml);
	xp_nvml_stop(xp_steal(&state->nvml));
	return 0;
}

static void cost(void *opaque, uint64_t *ret_ns, uint64_t *ret_events)
{
	*ret_ns = 0;
	*ret_events = 0;
}

static void fill_use(const struct state *state, uint32_t i, struct xp_arena *arena, struct xp_gpu_device *device)
{
	const struct xp_nvml_device *known = &state->list->devices[i];
	const struct xp_gpu_holder *holder = state->holders.at;
	const char **migs = xp_arena_array(arena, const char *, state->holders.n ? holder->n_parts : 1);
	uint64_t memory = 0;
	bool told = false, all = true;

	device->use = !state->use_known ? -1 : state->holders.n ? XP_GPU_USE_NVML : XP_GPU_USE_OPEN;
	device->mig_uuids = migs;
	for (size_t k = 0; state->holders.n && k < holder->n_parts; k++) {
		const struct xp_gpu_part *part = &holder->parts[k];

		if (part->device != i)
			continue;
		if (part->mig >= 0)
			migs[device->n_mig_uuids++] = known->migs[part->mig].uuid;
		told = true;
		all &= part->memory.set;
		memory += part->memory.v;
	}
	if (told && all)
		device->process_memory = (struct xp_opt_u64)XP_SOME(memory);
}

static int check_readings(const struct state *state, struct xp_err *reterr)
{
	const struct xp_nvml_fault hung = { .kind = XP_NVML_HUNG };
	const struct xp_nvml_fault *fault = &hung;

	for (uint32_t i = 0; i < state->list->n_devices; i++) {
		if (state->tally[i].readings)
			return 0;
		if (state->tally[i].fault.kind)
			fault = &state->tally[i].fault;
	}
	return fail(fault, reterr);
}

static int finish(void *opaque, const struct xp_window *window, struct xp_arena *arena, void **ret_value, struct xp_err *reterr)
{
	const struct state *state = opaque;
	struct xp_gpu_health *value = xp_arena_new_of(arena, struct xp_gpu_health);
	struct xp_gpu_device *devices = xp_arena_array(arena, struct xp_gpu_device, state->list->n_devices);
	int rc = check_readings(state, reterr);

	if (rc)
		return rc;
	*value = (struct xp_gpu_health){
		.driver_version = state->list->driver_version[0] ? state->list->driver_version : NULL,
		.devices_seen = state->list->n_devices + state->list->devices_lost,
		.use_known = state->use_known,
		.devices = devices,
		.readings_missed = state->missed,
	};
	for (uint32_t i = 0; i < state->list->n_devices; i++) {
		struct xp_gpu_device *device = &devices[value->n_devices];
		const struct xp_nvml_device *known = &state->list->devices[i];

		if (!(state->devices >> i & 1))
			continue;
		device->index = known->index;
		device->uuid = known->uuid;
		device->name = known->name[0] ? known->name : NULL;
		device->mig = known->mig;
		xp_gpu_tally_build(&state->tally[i], window->end_ns - window->start_ns, arena, device);
		fill_use(state, i, arena, device);
		value->n_devices++;
	}
	*ret_value = value;
	return 0;
}

static const struct xp_collector_ops ops = {
	.name = "gpu_health",
	.prepare = prepare,
	.arm = arm,
	.open = open_window,
	.drain = drain,
	.close_window = close_window,
	.disarm = disarm,
	.cost = cost,
};

const struct xp_inventory_kind xp_inventory_gpu_health = {
	.name = "gpu_health",
	.artifact = "gpu",
	.summary = "clocks, power, heat, links, memory and errors of the target's GPUs",
	.engine = &xp_engine_nvml,
	.ops = &ops,
	.record = &xp_gpu_health_record,
	.open = open_inventory,
	.finish = finish,
	.free = free_state,
};
