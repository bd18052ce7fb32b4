/* SPDX-License-Identifier: Apache-2.0 */
/* `measure` on a live process (contract 6.3): plan, capture, finish. */
#include <string.h>

#include "cmd/measure_cuda.h"
#include "cmd/measure_cupti.h"
#include "cmd/measure_finish.h"
#include "collect/exact.h"
#include "output/output.h"
#include "plan/graph.h"

static void close_target(void *target)
{
	xp_target_close(target);
}

static void free_exact(void *exact)
{
	xp_exact_free(exact);
}

static void free_folder(void *folder)
{
	xp_artifact_folder_free(folder);
}

/* Before anything is attached: the format is one of events, and the file can be made. */
static int check_destination(const struct xp_measure_request *request, struct xp_err *reterr)
{
	const struct xp_output *output;
	int rc = xp_output_choose(request->format, "jsonl", XP_TAKES_EVENTS, &output, reterr);

	if (!rc && request->page_out)
		rc = xp_artifact_check_destination(request->page_out, reterr);
	if (rc)
		return rc;
	return request->events_out ? xp_artifact_check_destination(request->events_out, reterr) : xp_artifact_folder_check(reterr);
}

static int plan_graph(struct xp_plan *plan, const struct xp_graph_spec *spec, const struct xp_plan_options *options, struct xp_err *reterr)
{
	struct xp_graph graph;
	int rc = xp_graph_plan(plan, spec, options, &graph, reterr);

	return rc ? rc : xp_graph_first_issue(&graph, reterr);
}

static int plan_pair(struct xp_plan *plan, const struct xp_measure_request *request, const struct xp_plan_options *options,
		     struct xp_err *reterr)
{
	int rc = xp_plan_pair(plan, request->from, request->to, request->policy, options, reterr);

	return rc ? rc : xp_plan_first_issue(plan, reterr);
}

static int make_plan(struct xp_session *session, const struct xp_measure_request *request, struct xp_plan *plan, struct xp_err *reterr)
{
	struct xp_plan_options options = { .allow_cxx_return = request->allow_cxx_return, .try_rights = false };
	struct xp_target *target;
	int rc = xp_target_open(request->target.pid, request->identity_given ? &request->target : NULL, &target, reterr);

	if (rc)
		return rc;
	xp_arena_defer(session->arena, close_target, target);
	xp_plan_init(plan, target, session->arena);
	plan->bounds = request->bounds;
	plan->records_only = request->records_only;
	plan->test_ring_bytes = request->test_ring_bytes;
	rc = request->graph ? plan_graph(plan, request->graph, &options, reterr) : plan_pair(plan, request, &options, reterr);
	for (size_t i = 0; !rc && i < plan->warnings.n; i++) {
		const struct xp_warning *warning = &plan->warnings.at[i];

		xp_warn(&session->warnings, warning->code, json_incref(warning->details), "%s", warning->message);
	}
	return rc;
}

/* What the window's end and the identity check say of the target. */
static void note_identity(struct xp_captured *captured, const struct xp_window *window)
{
	xp_auto_err gone = { 0 };

	if (window->end != XP_END_TARGET_GONE)
		return;
	if (!xp_target_check(captured->plan->target, &gone))
		gone.code = XP_E_TARGET_EXITED;
	captured->identity = gone.code == XP_E_TARGET_REUSED ? XP_E_TARGET_REUSED : XP_E_TARGET_EXITED;
}

/* A capture that was ended before its window opened has no result of any kind. */
static int before_window(const struct xp_window *window, struct xp_err *failure, struct xp_err *reterr)
{
	if (failure->code)
		return xp_err_move(reterr, failure);
	if (window->end == XP_END_SIGNAL) {
		int rc = xp_fail(reterr, XP_E_CANCELLED, "a signal ended the command before the window opened");

		xp_err_detail(reterr, "cancelled", json_true());
		return rc;
	}
	return xp_fail(reterr, XP_E_INTERNAL, "the window did not open");
}

/* The collectors of one plan: the host's, the agent's, or both in one window. */
struct parts {
	struct xp_exact *host;	     /* NULL: no host endpoint */
	struct xp_agent_exact *cuda; /* NULL: no CUDA endpoint */
	struct xp_opt_f64 injection_stall_ms;
};

static void free_agent_exact(void *exact)
{
	xp_agent_exact_free(exact);
}

static bool wants_host(const struct xp_plan *plan)
{
	for (unsigned i = 0; i < plan->n_endpoints; i++)
		if (plan->endpoints[i].family->host)
			return true;
	return false;
}

static int make_parts(struct xp_session *session, struct xp_plan *plan, struct parts *parts, struct xp_err *reterr)
{
	struct xp_agent_options options = { 0 };
	int rc = wants_host(plan) ? xp_exact_new(plan, &parts->host, reterr) : 0;

	if (rc)
		return rc;
	if (parts->host)
		xp_arena_defer(session->arena, free_exact, parts->host);
	if (!xp_plan_wants_agent(plan))
		return 0;
	rc = xp_cupti_refuse(session, plan, reterr);
	if (!rc)
		rc = xp_agent_prepare(session, plan, &options, &parts->injection_stall_ms, reterr);
	options.records_only = plan->records_only;
	if (!rc)
		rc = xp_agent_exact_new(plan, &options, parts->host, &parts->cuda, reterr);
	if (!rc)
		xp_arena_defer(session->arena, free_agent_exact, parts->cuda);
	return rc;
}

/* Store, counts and accounts of the capture; what the agent has to say of itself. */
static void gather(struct xp_session *session, const struct parts *parts, struct xp_window *window, struct xp_captured *captured)
{
	struct xp_account *all = xp_arena_array(session->arena, struct xp_account, 8), *some;
	size_t n;

	captured->store = parts->cuda ? xp_agent_exact_store(parts->cuda) : xp_exact_store(parts->host);
	if (parts->host) {
		some = xp_exact_accounts(parts->host, session->arena, &n);
		memcpy(all, some, n * sizeof(*all));
		captured->n_sources = n;
		captured->observed_events = xp_exact_observed(parts->host);
	}
	if (parts->cuda) {
		struct xp_agent_facts facts = xp_agent_exact_facts(parts->cuda);

		some = xp_agent_exact_accounts(parts->cuda, session->arena, &n);
		memcpy(all + captured->n_sources, some, n * sizeof(*all));
		captured->n_sources += n;
		captured->observed_events += xp_agent_exact_observed(parts->cuda);
		xp_cuda_conclude(session, &facts, parts->injection_stall_ms, window, captured);
	}
	captured->sources = all;
	captured->capacity_reached = captured->observed_events > xp_store_count(captured->store);
}

static int capture(struct xp_session *session, const struct xp_measure_request *request, struct xp_plan *plan, struct parts *parts,
		   struct xp_err *reterr)
{
	struct xp_window *window = xp_arena_new_of(session->arena, struct xp_window);
	struct xp_collector collectors[2];
	size_t n = 0;
	struct xp_window_bounds bounds = {
		.duration_ms = request->bounds.duration_ms.set ? request->bounds.duration_ms.v : 0,
		.timeout_ms = request->bounds.timeout_ms,
		.max_cost = request->bounds.max_cost,
	};
	struct xp_captured captured = {
		.plan = plan,
		.window = window,
		.target = xp_target_identity(plan->target),
		.folder = xp_artifact_folder_new(),
	};
	xp_auto_err failure = { 0 };

	xp_arena_defer(session->arena, free_folder, captured.folder);
	if (parts->host)
		collectors[n++] = xp_exact_collector(parts->host);
	if (parts->cuda)
		collectors[n++] = xp_agent_exact_collector(parts->cuda);
	xp_measure_progress(&bounds, xp_flag_on(session, "--non-interactive"));
	xp_window_run(collectors, n, plan->target, &bounds, window, &failure);
	xp_measure_progress_end(&bounds);
	if (!window->opened)
		return before_window(window, &failure, reterr);
	gather(session, parts, window, &captured);
	note_identity(&captured, window);
	return xp_measure_finish(session, request, &captured, &failure, reterr);
}

int xp_measure_exact(struct xp_session *session, const struct xp_measure_request *request, struct xp_err *reterr)
{
	struct xp_plan *plan = xp_arena_new_of(session->arena, struct xp_plan);
	struct parts parts = { 0 };
	int rc = check_destination(request, reterr);

	if (!rc)
		rc = make_plan(session, request, plan, reterr);
	if (!rc)
		rc = make_parts(session, plan, &parts, reterr);
	return rc ? rc : capture(session, request, plan, &parts, reterr);
}
