/* SPDX-License-Identifier: Apache-2.0 */
/* Doubts about an exact measurement: one function a row of contract 13, in its order. In: an edge and its capture. Out: issues. No state.
 */
#include <inttypes.h>

#include "result/edge.h"

#define GOOD_SAMPLES 100
#define FEW_SAMPLES 30
#define MUCH_UNMATCHED 0.05
#define MUCH_COST 0.02
#define LONG_STALL_MS 100
#define FLOORS_NEEDED 3

typedef void check_fn(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues);

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static bool is_activity(const struct xp_endpoint *endpoint)
{
	return endpoint->type >= XP_EV_GPU_KERNEL_START && endpoint->type <= XP_EV_GPU_MEMSET_END;
}

static bool is_cuda(const struct xp_edge_request *request)
{
	return xp_event_group_of(request->start->type) == XP_GROUP_CUDA || xp_event_group_of(request->end->type) == XP_GROUP_CUDA;
}

/* Clock errors matter between two clocks; two activities share one. */
static enum xp_severity clock_severity(const struct xp_edge_request *request)
{
	return is_activity(request->start) && is_activity(request->end) ? XP_INFO : XP_CAUTION;
}

static void timed_out(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	if (request->facts->status == XP_TIMED_OUT)
		xp_issue_add(issues, "timed_out", XP_CAUTION, NULL, "the timeout ended the window before its bound was reached");
}

static void cancelled(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	const struct xp_window *window = request->facts->window;

	if (request->facts->status == XP_CANCELLED && window && window->end == XP_END_SIGNAL)
		xp_issue_add(issues, "cancelled", XP_CAUTION, NULL, "a signal ended the window before its bound was reached");
}

static void heuristic(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	if (xp_policy_at(request->policy)->confidence == XP_CONF_HEURISTIC)
		xp_issue_add(issues, "heuristic_correlation", XP_CAUTION, NULL, "%s pairs by time alone: order in time is not cause",
			     xp_policy_names[request->policy]);
}

static void ambiguous(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	if (value->samples.ambiguous)
		xp_issue_add(issues, "ambiguous_correlation", XP_CAUTION,
			     json_pack("{s:o}", "ambiguous", xp_json_count(value->samples.ambiguous)),
			     "%" PRIu64 " event%s could have belonged to several pairs", value->samples.ambiguous,
			     plural(value->samples.ambiguous));
}

static void unmatched(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	uint64_t n = value->samples.unmatched_start + value->samples.unmatched_end;
	struct xp_opt_f64 share = xp_unmatched_share(request->pairs);

	if (n)
		xp_issue_add(issues, "unmatched_events", share.v > MUCH_UNMATCHED ? XP_CAUTION : XP_INFO,
			     json_pack("{s:o,s:o,s:f}", "unmatched_start", xp_json_count(value->samples.unmatched_start), "unmatched_end",
				       xp_json_count(value->samples.unmatched_end), "share", share.v),
			     "%" PRIu64 " event%s found no partner (%.1f%%)", n, plural(n), share.v * 100);
}

static void clock_unknown(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	if (!value->clock.estimated_error_ns.set)
		xp_issue_add(issues, "clock_error_unknown", clock_severity(request), NULL,
			     "no bound is known for the error of the GPU times");
}

static void clock_large(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	uint64_t within = request->pairs->within_clock_error, error_ns = value->clock.estimated_error_ns.v;
	bool large = (is_activity(request->start) || is_activity(request->end)) && value->latency_ns &&
		     (double)error_ns > 0.1 * (double)value->latency_ns->p50;

	if (large || within)
		xp_issue_add(issues, "clock_error_large", clock_severity(request),
			     json_pack("{s:o,s:o}", "estimated_error_ns",
				       value->clock.estimated_error_ns.set ? xp_json_count(error_ns) : json_null(), "within_clock_error",
				       xp_json_count(within)),
			     large ? "the clocks may disagree by %" PRIu64 " ns, more than a tenth of p50"
				   : "within %" PRIu64 " ns of clock error some activities seem to begin before their launch",
			     error_ns);
}

static void clock_stepped(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	if (request->facts->clock_stepped)
		xp_issue_add(issues, "clock_stepped", XP_CAUTION, NULL,
			     "the wall clock jumped during the window; GPU times were converted piece by piece");
}

static void few_samples(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	if (value->samples.matched < GOOD_SAMPLES)
		xp_issue_add(issues, "few_samples", value->samples.matched < FEW_SAMPLES ? XP_CAUTION : XP_INFO,
			     json_pack("{s:o}", "matched", xp_json_count(value->samples.matched)),
			     "%" PRIu64 " pair%s say little about the tail", value->samples.matched, plural(value->samples.matched));
}

static void source_loss(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	if (request->facts->source_loss_unknown)
		xp_issue_add(issues, "source_loss_unknown", XP_INFO, NULL,
			     "an input file cannot say whether events were lost when it was made");
}

static bool is_function(const struct xp_endpoint *endpoint)
{
	return endpoint->type == XP_EV_HOST_FUNCTION_ENTRY || endpoint->type == XP_EV_HOST_FUNCTION_EXIT;
}

static void near_floor(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	const struct xp_cost *cost = request->facts->cost;

	if (!cost || !cost->probe_floor_ns.set || !value->latency_ns || !is_function(request->start) || !is_function(request->end))
		return;
	if (value->latency_ns->p50 / FLOORS_NEEDED < cost->probe_floor_ns.v) /* p50 < 3 x floor, without overflow */
		xp_issue_add(issues, "near_probe_floor", XP_CAUTION,
			     json_pack("{s:o,s:o}", "p50", xp_json_count(value->latency_ns->p50), "probe_floor_ns",
				       xp_json_count(cost->probe_floor_ns.v)),
			     "p50 is below %d times the cost of a probe (%" PRIu64 " ns): much of it is the probe itself", FLOORS_NEEDED,
			     cost->probe_floor_ns.v);
}

static void cost_limit(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	const struct xp_cost *cost = request->facts->cost;

	if (cost && cost->limit_reached)
		xp_issue_add(issues, "cost_limit_reached", XP_CAUTION, json_pack("{s:f}", "limit", cost->limit),
			     "the probes cost more than %.1f%% of the target's CPU time and were taken off early", cost->limit * 100);
}

static void high_cost(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	const struct xp_cost *cost = request->facts->cost;

	if (cost && !cost->limit_reached && cost->cpu_share.set && cost->cpu_share.v > MUCH_COST)
		xp_issue_add(issues, "high_cost", XP_CAUTION, json_pack("{s:f}", "cpu_share", cost->cpu_share.v),
			     "the probes cost %.1f%% of the target's CPU time", cost->cpu_share.v * 100);
}

static void long_stall(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	const struct xp_cost *cost = request->facts->cost;

	if (cost && cost->stall_ms.set && cost->stall_ms.v > LONG_STALL_MS)
		xp_issue_add(issues, "long_stall", XP_CAUTION, json_pack("{s:f}", "stall_ms", cost->stall_ms.v),
			     "the program stood still for %.0f ms while the capture was set up", cost->stall_ms.v);
}

static void records_only(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	if (request->facts->records_only)
		xp_issue_add(issues, "records_only", XP_CAUTION, NULL,
			     "launches were not counted: a dead collection cannot be told from an idle GPU");
}

static void kinds_left_on(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	if (request->facts->kinds_left_on)
		xp_issue_add(issues, "kinds_left_on", XP_CAUTION, NULL,
			     "activity records stay switched on in the target until it is safe to stop them");
}

static void unreliable(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	if (request->facts->correlation_unreliable)
		xp_issue_add(issues, "correlation_unreliable", XP_CAUTION, NULL, "correlation ids failed their self-check");
}

static void invalid_times(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	const struct xp_cuda_account *cuda = request->facts->cuda;

	if (cuda && cuda->invalid_time_records)
		xp_issue_add(issues, "invalid_gpu_times", XP_CAUTION,
			     json_pack("{s:o}", "invalid_time_records", xp_json_count(cuda->invalid_time_records)),
			     "%" PRIu64 " GPU records with impossible times were left out", cuda->invalid_time_records);
}

static void launch_unknown(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	const struct xp_cuda_account *cuda = request->facts->cuda;

	if (is_cuda(request) && cuda && cuda->launch_unknown)
		xp_issue_add(issues, "launch_link_unknown", request->pairs->launch_unknown ? XP_CAUTION : XP_INFO,
			     json_pack("{s:o}", "launch_unknown", xp_json_count(cuda->launch_unknown)),
			     "%" PRIu64 " activities of graphs cannot be tied to a launch", cuda->launch_unknown);
}

static void graph_predates(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	const struct xp_cuda_account *cuda = request->facts->cuda;

	if (is_cuda(request) && cuda && cuda->predates_attach)
		xp_issue_add(issues, "graph_predates_attach", XP_INFO,
			     json_pack("{s:o}", "predates_attach", xp_json_count(cuda->predates_attach)),
			     "%" PRIu64 " launches were of graphs built before the agent came", cuda->predates_attach);
}

static void caveat(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	if (request->facts->cupti_caveat)
		xp_issue_add(issues, "cupti_caveat", XP_CAUTION, json_pack("{s:o}", "effect", xp_json_text(request->facts->cupti_caveat)),
			     "known defect of this CUPTI or driver version: %s", request->facts->cupti_caveat);
}

static void target_exec(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	const struct xp_window *window = request->facts->window;

	if (window && window->exec_seen)
		xp_issue_add(issues, "target_exec", XP_CAUTION, NULL,
			     "the target replaced itself by execve; what came after was not measured");
}

static void target_forked(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	const struct xp_window *window = request->facts->window;

	if (window && window->children)
		xp_issue_add(issues, "target_forked", XP_INFO, json_pack("{s:o}", "children", xp_json_count(window->children)),
			     "child processes made by the target: %u; they are not covered", window->children);
}

static void nvtx_partial(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	if (request->facts->nvtx_partial)
		xp_issue_add(issues, "nvtx_partial", XP_CAUTION, NULL, "NVTX calls of some loaded objects cannot be seen");
}

static void nested_missed(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	if (request->facts->window && request->pairs->nested_too_deep)
		xp_issue_add(issues, "nested_returns_missed", XP_CAUTION, NULL,
			     "the function was nested deeper than 64 calls; the kernel does not report those returns");
}

/* Contract 13, top to bottom; `whole`: read from the facts alone, so it holds for every edge of the capture. */
static const struct {
	check_fn *check;
	bool whole;
} checks[] = {
	{ timed_out, true },	  { cancelled, true },	  { heuristic, false },	   { ambiguous, false },      { unmatched, false },
	{ clock_unknown, false }, { clock_large, false }, { clock_stepped, true }, { few_samples, false },    { source_loss, true },
	{ near_floor, false },	  { cost_limit, true },	  { high_cost, true },	   { long_stall, true },      { records_only, true },
	{ kinds_left_on, true },  { unreliable, true },	  { invalid_times, true }, { launch_unknown, false }, { graph_predates, false },
	{ caveat, true },	  { target_exec, true },  { target_forked, true }, { nvtx_partial, true },    { nested_missed, false },
};

void xp_edge_doubts(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues)
{
	for (size_t i = 0; i < XP_LEN(checks); i++)
		checks[i].check(request, value, issues);
}

void xp_capture_doubts(const struct xp_capture_facts *facts, struct xp_issues *issues)
{
	struct xp_edge_request request = { .facts = facts };
	struct xp_edge_value value = { 0 };

	for (size_t i = 0; i < XP_LEN(checks); i++)
		if (checks[i].whole)
			checks[i].check(&request, &value, issues);
}
