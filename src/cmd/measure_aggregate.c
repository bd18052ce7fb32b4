/* SPDX-License-Identifier: Apache-2.0 */
/* `measure --aggregate` (contract 6.5), by flags or by a spec in aggregate mode: one kind of GPU activity, grouped inside the target. */
#include "cmd/inventory_run.h"
#include "cmd/measure_cuda.h"
#include "cmd/measure_cupti.h"

#include <string.h>

static void close_target(void *target)
{
	xp_target_close(target);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool is_start(enum xp_event_type type)
{
	return type == XP_EV_GPU_KERNEL_START || type == XP_EV_GPU_MEMCPY_START || type == XP_EV_GPU_MEMSET_START;
}

/* One activity, the same filter on both sides, and a filter that the agent can try. */
static int check_pair(const struct xp_endpoint *start, const struct xp_endpoint *end, struct xp_err *reterr)
{
	if (!is_start(start->type) || end->type != start->type + 1)
		return xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR,
			       "--aggregate takes the start and the end of one kind of GPU activity: kernels, copies or sets");
	if (!same_text(start->cuda.pattern, end->cuda.pattern) || start->cuda.on_function != end->cuda.on_function ||
	    start->cuda.memcpy_kind != end->cuda.memcpy_kind)
		return xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR, "--aggregate takes the same filter on both sides");
	if (start->cuda.pattern &&
	    (start->cuda.match == XP_MATCH_REGEX || (start->cuda.on_function && start->cuda.match != XP_MATCH_ANY))) {
		int rc = xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR,
				 "--aggregate takes a kernel name that is exact, a prefix, a suffix or contained");

		xp_err_object(reterr, "%s", start->selector);
		return rc;
	}
	return 0;
}

static int make_plan(struct xp_session *session, const struct xp_measure_request *request, struct xp_plan *plan, struct xp_err *reterr)
{
	struct xp_plan_options options = { .try_rights = false };
	struct xp_target *target;

	if (request->policy != XP_POLICY_EXACT)
		return xp_fail(reterr, XP_E_INVALID_CORRELATION_POLICY, "--aggregate needs --match exact");
	int rc = xp_target_open(request->target.pid, request->identity_given ? &request->target : NULL, &target, reterr);
	if (rc)
		return rc;
	xp_arena_defer(session->arena, close_target, target);
	xp_plan_init(plan, target, session->arena);
	rc = xp_plan_pair(plan, request->from, request->to, request->policy, &options, reterr);
	if (!rc)
		rc = check_pair(&plan->endpoints[plan->edges[0].start], &plan->endpoints[plan->edges[0].end], reterr);
	return rc ? rc : xp_plan_first_issue(plan, reterr);
}

static int run(struct xp_session *session, const struct xp_measure_request *request, struct xp_inventory_run *inventory,
	       struct xp_err *reterr)
{
	struct xp_plan *plan = xp_arena_new_of(session->arena, struct xp_plan);
	struct xp_agent_options *agent = xp_arena_new_of(session->arena, struct xp_agent_options);
	struct xp_opt_f64 stall_ms = { 0 };
	int rc = make_plan(session, request, plan, reterr);

	if (!rc)
		rc = xp_cupti_refuse(session, plan, reterr);
	if (!rc)
		rc = xp_cuda_prepare(session, plan->target, inventory->request.timeout_ms, agent, &stall_ms, reterr);
	if (rc)
		return rc;
	agent->records_only = agent->records_only || request->records_only;
	inventory->target = *xp_target_identity(plan->target);
	inventory->identity_given = true;
	inventory->request.cuda_plan = plan;
	inventory->request.agent = agent;
	return xp_inventory_measure(session, inventory, reterr);
}

int xp_measure_aggregate(struct xp_session *session, struct xp_err *reterr)
{
	const struct xp_flag_use *cost = xp_flag_find(session, "--max-cost");
	struct xp_inventory_run inventory = { .max_cost = cost ? cost->share : 0.05 };
	struct xp_measure_request request = { 0 };
	int rc = xp_inventory_of_flag("--aggregate", &inventory.kind, reterr);

	if (!rc)
		rc = xp_measure_pid(session, &request.target.pid, reterr);
	if (!rc)
		rc = xp_measure_pair_flags(session, &request, reterr);
	if (!rc)
		rc = xp_inventory_flags(session, &inventory.request, reterr);
	return rc ? rc : run(session, &request, &inventory, reterr);
}

int xp_measure_aggregate_spec(struct xp_session *session, const struct xp_measurement_spec *spec, struct xp_err *reterr)
{
	const struct xp_flag_use *cost = xp_flag_find(session, "--max-cost");
	struct xp_inventory_run inventory = { .max_cost = cost ? cost->share : spec->max_cost.set ? spec->max_cost.v : 0.05 };
	struct xp_measure_request request;

	if (!spec->duration_ms.set)
		return xp_fail(reterr, XP_E_SESSION_LIMIT_EXCEEDED, "duration_ms must be set in aggregate mode");
	xp_measure_request_of_spec(spec, &request);
	inventory.request = (struct xp_inventory_request){
		.name = spec->name,
		.duration_ms = spec->duration_ms.v,
		.timeout_ms = spec->timeout_ms,
		.max_groups = spec->max_groups.v,
		.full_evidence = !strcmp(xp_flag_text(session, "--evidence", "summary"), "full"),
	};
	int rc = xp_inventory_of_flag("--aggregate", &inventory.kind, reterr);
	if (!rc)
		rc = xp_inventory_output(session, &inventory, reterr);
	return rc ? rc : run(session, &request, &inventory, reterr);
}
