/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels, copies and sets of one window, for a triage. In: struct xp_cuda_window. Out: kernels here, all groups in the shared window. */
#include "inventory/cuda_window.h"
#include "inventory/gpu_activity_priv.h"

int xp_cuda_window_bring(struct xp_cuda_window *cuda, struct xp_target *target, struct xp_err *reterr)
{
	xp_auto(xp_agent_link_close) struct xp_agent_link *link = NULL;
	int rc = xp_agent_bring(target, &cuda->place, &link, &cuda->injected, &cuda->injection_stall_ns, reterr);

	cuda->loaded |= !rc;
	return rc;
}

/* The set of contract 10.17: everything that a device does, whatever its name. */
static void ask_for_all(struct xp_agent_request *request)
{
	static const uint32_t kinds[] = { XP_CAPTURE_KERNEL_START, XP_CAPTURE_MEMCPY_START, XP_CAPTURE_MEMSET_START };

	request->mode = XP_AGENT_AGGREGATE;
	request->capacity = XP_GPU_GROUPS;
	request->n_filters = XP_LEN(kinds);
	for (size_t i = 0; i < XP_LEN(kinds); i++)
		request->filters[i] = (struct xp_agent_filter){ .kind = kinds[i], .match = XP_AGENT_MATCH_ANY };
}

static int open_inventory(const struct xp_inventory_request *request, struct xp_target *target, struct xp_arena *arena, void **ret_state,
			  struct xp_err *reterr)
{
	struct xp_gpu_state *state = xp_arena_new_of(arena, struct xp_gpu_state);
	struct xp_inventory_request *own = xp_arena_new_of(arena, struct xp_inventory_request);

	if (!request->cuda)
		return xp_fail(reterr, XP_E_CUPTI_NOT_AVAILABLE, "nothing is known of the agent");
	*own = *request; /* the caller's is one process's, and may not last */
	*state = (struct xp_gpu_state){
		.request = own,
		.arena = arena,
		.capture = { .target = target, .options = request->cuda->options },
	};
	ask_for_all(&state->capture.request);
	*ret_state = state;
	return 0;
}

/* In the order of contract 13. What the window itself is in doubt about, the triage says. */
static struct xp_quality doubts(const struct xp_agent_facts *facts, struct xp_arena *arena)
{
	const struct xp_agent_counters *counters = &facts->counters;
	struct xp_issues issues = { .arena = arena };

	if (facts->records_only)
		xp_issue_add(&issues, "records_only", XP_CAUTION, NULL,
			     "launches were not counted, so a dead collection cannot be told from an idle GPU");
	if (facts->correlation_unreliable)
		xp_issue_add(&issues, "correlation_unreliable", XP_CAUTION, NULL, "correlation ids failed their self-check");
	if (counters->invalid_times)
		xp_issue_add(&issues, "invalid_gpu_times", XP_CAUTION,
			     json_pack("{s:o}", "records", xp_json_count(counters->invalid_times)),
			     "%llu activities had no valid times and are not counted", (unsigned long long)counters->invalid_times);
	if (counters->launch_unknown)
		xp_issue_add(&issues, "launch_link_unknown", XP_INFO,
			     json_pack("{s:o}", "records", xp_json_count(counters->launch_unknown)),
			     "%llu kernels have no launch that was seen", (unsigned long long)counters->launch_unknown);
	if (counters->graph_predates)
		xp_issue_add(&issues, "graph_predates_attach", XP_INFO,
			     json_pack("{s:o}", "records", xp_json_count(counters->graph_predates)),
			     "CUDA graphs that were built before the agent came were launched");
	return xp_quality_of(&issues);
}

static int finish(void *arg, const struct xp_window *window, struct xp_arena *arena, void **ret_value, struct xp_err *reterr)
{
	struct xp_gpu_state *state = arg;
	struct xp_cuda_window *cuda = state->request->cuda;
	xp_auto_err err = { 0 };

	if (!state->capture.link)
		return xp_fail(reterr, XP_E_CUPTI_NOT_AVAILABLE, "the agent was never armed");
	cuda->facts = xp_agent_capture_facts(&state->capture);
	struct xp_gpu_activity *value = xp_gpu_value(state, window, &cuda->facts, arena);
	int rc = xp_gpu_check(value, &cuda->facts, &err);

	/* Lost activities make a triage's table incomplete; what it has stays in the artifact (contract 6.6). */
	value->incomplete = rc == -XP_E_EVENTS_DROPPED || rc == -XP_E_EVENT_RATE_TOO_HIGH;
	if (rc && !value->incomplete)
		return xp_err_move(reterr, &err);
	value->quality = doubts(&cuda->facts, arena);
	cuda->all = value;
	*ret_value = xp_gpu_activity_part(value, 1u << XP_GPU_KERNEL, arena);
	return 0;
}

/* What injection, the first subscription and what stays on each launch did to the target. */
static void effects(void *arg, struct xp_cost *cost)
{
	struct xp_gpu_state *state = arg;
	double injection_ms = (double)state->request->cuda->injection_stall_ns / 1e6;
	struct xp_agent_facts facts = xp_agent_capture_facts(&state->capture);

	if (state->request->cuda->injected && (!facts.stall_ms.set || facts.stall_ms.v < injection_ms))
		facts.stall_ms = (struct xp_opt_f64)XP_SOME(injection_ms);
	if (facts.stall_ms.set && (!cost->stall_ms.set || cost->stall_ms.v < facts.stall_ms.v))
		cost->stall_ms = facts.stall_ms;
	if (state->capture.stopped)
		cost->residual_ns_per_launch = facts.residual_ns_per_launch;
}

static bool is_empty(const void *value)
{
	return !((const struct xp_gpu_activity *)value)->inventory.n_groups;
}

const struct xp_inventory_kind xp_inventory_cuda_kernels = {
	.name = "cuda_kernels",
	.summary = "kernels by name, grouped inside the target",
	.ops = &xp_gpu_ops,
	.record = &xp_gpu_activity_record,
	.open = open_inventory,
	.finish = finish,
	.free = xp_gpu_state_free,
	.shrink = xp_gpu_activity_shrink,
	.empty = is_empty,
	.effects = effects,
};
