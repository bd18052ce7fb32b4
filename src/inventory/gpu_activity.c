/* SPDX-License-Identifier: Apache-2.0 */
/* GPU activities grouped inside the agent (contract 6.5). In: one start -> end pair of one kind. Out: struct xp_gpu_activity. */
#include "inventory/gpu_activity_priv.h"

#include <stdlib.h>
#include <string.h>

#include "collect/agent_cuda.h"
#include "collect/agent_exact.h"
#include "collect/cupti_facts.h"
#include "collect/issues.h"
#include "inventory/cuda_window.h"
#include "plan/plan.h"

enum { CALLBACK_NS = 700 /* contract 15.2 */ };

struct name {
	const char *text;
	uint32_t length;
	bool complete;
};

/* Aggregates group one kind; a full expression cannot be tried in the agent (contract 6.5). */
static int fill_request(struct xp_gpu_state *state, struct xp_err *reterr)
{
	const struct xp_plan *plan = state->request->cuda_plan;
	struct xp_agent_request *request = &state->capture.request;
	const struct xp_endpoint *start = &plan->endpoints[plan->edges[0].start];
	struct xp_plan only = { .n_endpoints = 1, .endpoints = { *start } };

	request->mode = XP_AGENT_AGGREGATE;
	request->capacity = (uint32_t)(state->request->max_groups ? state->request->max_groups : XP_GPU_GROUPS);
	return xp_agent_filters(&only, request, reterr);
}

static int open_inventory(const struct xp_inventory_request *request, struct xp_target *target, struct xp_arena *arena, void **ret_state,
			  struct xp_err *reterr)
{
	struct xp_gpu_state *state = xp_arena_new_of(arena, struct xp_gpu_state);

	if (!request->cuda_plan || !request->agent)
		return xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR, "GPU activities need a start and an end selector");
	*state = (struct xp_gpu_state){
		.request = request,
		.arena = arena,
		.capture = { .target = target, .options = *request->agent },
	};
	*ret_state = state;
	return fill_request(state, reterr);
}

static int prepare(void *arg, struct xp_err *reterr)
{
	(void)arg;
	(void)reterr;
	return 0;
}

static int arm(void *arg, struct xp_err *reterr)
{
	struct xp_gpu_state *state = arg;
	struct xp_cuda_window *cuda = state->request->cuda;
	int rc = cuda ? xp_cuda_window_bring(cuda, state->capture.target, reterr) : 0;

	return rc ? rc : xp_agent_capture_arm(&state->capture, reterr);
}

static int open_window(void *arg, uint64_t start_ns, struct xp_err *reterr)
{
	struct xp_gpu_state *state = arg;

	(void)reterr;
	xp_agent_capture_open(&state->capture, start_ns);
	return 0;
}

static int drain(void *arg, struct xp_err *reterr)
{
	struct xp_gpu_state *state = arg;

	return xp_agent_capture_tick(&state->capture, reterr);
}

static void close_window(void *arg, uint64_t end_ns)
{
	struct xp_gpu_state *state = arg;

	xp_agent_capture_close(&state->capture, end_ns);
}

static int nothing_to_read(void *arg, struct xp_err *reterr)
{
	(void)arg;
	(void)reterr;
	return 0;
}

static int disarm(void *arg, struct xp_err *reterr)
{
	struct xp_gpu_state *state = arg;

	return xp_agent_capture_stop(&state->capture, nothing_to_read, NULL, reterr);
}

static void cost(void *arg, uint64_t *ret_ns, uint64_t *ret_events)
{
	struct xp_gpu_state *state = arg;
	struct xp_agent_counters counters =
		state->capture.link && !state->capture.stopped ? xp_agent_link_counters(state->capture.link) : state->capture.counters;

	*ret_events = counters.callbacks + counters.activities_seen;
	*ret_ns = counters.callbacks * CALLBACK_NS;
}

const struct xp_collector_ops xp_gpu_ops = {
	.name = "gpu_activity",
	.prepare = prepare,
	.arm = arm,
	.open = open_window,
	.drain = drain,
	.close_window = close_window,
	.disarm = disarm,
	.cost = cost,
};

/* Names come once each; a name of the table's bound is a cut one. */
static void read_names(struct xp_gpu_state *state)
{
	uint32_t id, length;
	const char *text;

	while (xp_agent_link_name(state->capture.link, &id, &text, &length)) {
		struct name *name = xp_arena_new_of(state->arena, struct name);

		name->text = xp_arena_dup(state->arena, text, length);
		name->length = length;
		name->complete = length < XP_AGENT_NAME_MAX;
		*xp_map_at(&state->names, id, NULL, NULL, NULL) = (uint64_t)(uintptr_t)name;
	}
}

static const char *name_of(void *arg, uint32_t id, bool *ret_complete)
{
	struct xp_gpu_state *state = arg;
	const uint64_t *at = xp_map_find(&state->names, id, NULL, NULL);
	const struct name *name = at ? (const struct name *)(uintptr_t)*at : NULL;

	*ret_complete = name && name->complete;
	return name ? name->text : NULL;
}

static void fill_accounts(struct xp_gpu_activity *value, const struct xp_agent_counters *counters, struct xp_arena *arena)
{
	struct xp_account *account = xp_arena_new_of(arena, struct xp_account);
	struct xp_count *reasons = xp_arena_array(arena, struct xp_count, 2);
	uint64_t lost = counters->cupti_dropped, full = counters->activities_ungrouped;

	reasons[0] = (struct xp_count){ "cupti_buffer", lost };
	reasons[1] = (struct xp_count){ "table_full", full };
	value->collection.observed_activities = counters->activities_grouped + full + lost;
	value->collection.dropped_activities = full + lost;
	*account = (struct xp_account){
		.source = "cupti_activity",
		.emitted = counters->activities_grouped + counters->filtered + full + lost,
		.delivered = counters->activities_grouped,
		.dropped = full + lost,
		.filtered = counters->filtered,
		.dropped_reasons = reasons,
		.n_dropped_reasons = full || lost ? 2 : 0,
	};
	value->collection.sources = account;
	value->collection.n_sources = 1;
}

int xp_gpu_check(const struct xp_gpu_activity *value, const struct xp_agent_facts *facts, struct xp_err *reterr)
{
	const struct xp_agent_counters *counters = &facts->counters;

	if (counters->cupti_dropped) {
		int rc = xp_fail(reterr, XP_E_EVENTS_DROPPED, "CUPTI lost %llu activities", (unsigned long long)counters->cupti_dropped);

		xp_err_detail(reterr, "dropped_activities", xp_json_count(counters->cupti_dropped));
		return rc;
	}
	if (counters->activities_ungrouped) {
		int rc = xp_fail(reterr, XP_E_EVENT_RATE_TOO_HIGH, "the group table is full");

		xp_err_detail(reterr, "group_capacity", xp_json_count(value->collection.group_capacity));
		xp_err_detail(reterr, "dropped_activities", xp_json_count(counters->activities_ungrouped));
		return rc;
	}
	if (value->collection.grouped_activities != counters->activities_grouped)
		return xp_fail(reterr, XP_E_TRACE_EXPORT_FAILED, "the groups hold %llu activities, the agent booked %llu",
			       (unsigned long long)value->collection.grouped_activities, (unsigned long long)counters->activities_grouped);
	if (facts->collection_dead)
		return xp_fail(reterr, XP_E_COLLECTION_DEAD, "launches were seen, but CUPTI delivered not one activity");
	return 0;
}

struct xp_gpu_activity *xp_gpu_value(struct xp_gpu_state *state, const struct xp_window *window, const struct xp_agent_facts *facts,
				     struct xp_arena *arena)
{
	struct xp_gpu_activity *value = xp_arena_new_of(arena, struct xp_gpu_activity);
	struct xp_gpu_raw raw = { .name_of = name_of, .arg = state, .capacity = state->capture.request.capacity };
	uint32_t n = 0;

	read_names(state);
	raw.groups = xp_agent_link_groups(state->capture.link, &n);
	raw.n_groups = n;
	xp_gpu_activity_build(&raw, arena, value);
	fill_accounts(value, &facts->counters, arena);
	value->inventory.name = state->request->name;
	value->collection.window_ns = window->end_ns - window->start_ns;
	value->collection.cuda = xp_agent_cuda_account(facts, arena);
	return value;
}

static int finish(void *arg, const struct xp_window *window, struct xp_arena *arena, void **ret_value, struct xp_err *reterr)
{
	struct xp_gpu_state *state = arg;
	struct xp_issues issues = { .arena = arena };
	const struct xp_plan *plan = state->request->cuda_plan;

	if (!state->capture.link)
		return xp_fail(reterr, XP_E_CUPTI_NOT_AVAILABLE, "the agent was never armed");
	struct xp_agent_facts facts = xp_agent_capture_facts(&state->capture);
	struct xp_gpu_activity *value = xp_gpu_value(state, window, &facts, arena);

	value->inventory.start_selector = plan->endpoints[plan->edges[0].start].selector;
	value->inventory.end_selector = plan->endpoints[plan->edges[0].end].selector;
	xp_window_issues_end(window, &issues);
	xp_window_issues_cost(window, &issues);
	xp_cupti_issues(&facts, &issues);
	xp_window_issues_target(window, &issues);
	value->quality = xp_quality_of(&issues);
	int rc = xp_gpu_check(value, &facts, reterr);
	if (!rc)
		*ret_value = value;
	return rc;
}

/* What the first subscription and what stays on each launch did to the target. */
static void effects(void *arg, struct xp_cost *cost_of_window)
{
	struct xp_gpu_state *state = arg;
	struct xp_agent_facts facts = xp_agent_capture_facts(&state->capture);

	cost_of_window->stall_ms = facts.stall_ms;
	cost_of_window->residual_ns_per_launch = facts.residual_ns_per_launch;
}

void xp_gpu_state_free(void *arg)
{
	struct xp_gpu_state *state = arg;

	xp_agent_capture_done(&state->capture);
	xp_map_done(&state->names);
}

static bool is_empty(const void *value)
{
	return !((const struct xp_gpu_activity *)value)->inventory.n_groups;
}

const struct xp_inventory_kind xp_inventory_gpu_activity = {
	.name = "gpu_activity",
	.artifact = "aggregate",
	.summary = "kernels, copies and sets by name, grouped inside the target",
	.flag = "--aggregate",
	.ops = &xp_gpu_ops,
	.record = &xp_gpu_activity_record,
	.open = open_inventory,
	.finish = finish,
	.free = xp_gpu_state_free,
	.shrink = xp_gpu_activity_shrink,
	.empty = is_empty,
	.effects = effects,
};
