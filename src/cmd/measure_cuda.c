/* SPDX-License-Identifier: Apache-2.0 */
/* Brings the agent and turns its facts into accounts, warnings and costs. No state. */
#include "cmd/measure_cuda.h"

#include <stdio.h>
#include <string.h>

#include "cmd/agent_file.h"
#include "cmd/measure_cupti.h"
#include "collect/agent_cuda.h"
#include "engine/cupti_find.h"

bool xp_plan_wants_agent(const struct xp_plan *plan)
{
	for (unsigned i = 0; i < plan->n_endpoints; i++)
		if (!plan->endpoints[i].family->host)
			return true;
	return false;
}

static bool wants_cupti(const struct xp_plan *plan)
{
	for (unsigned i = 0; i < plan->n_endpoints; i++)
		if (plan->endpoints[i].family->needs & (XP_NEED_CALLBACK | XP_NEED_ACTIVITY))
			return true;
	return false;
}

/* libkineto lives inside libtorch_cpu; a program that maps either may start torch.profiler at any time. */
bool xp_cuda_maps_profiler(const struct xp_target *target)
{
	const struct xp_maps *maps = xp_target_maps(target);

	for (size_t i = 0; i < maps->n; i++)
		if (strstr(maps->at[i].path, "libkineto") || strstr(maps->at[i].path, "/libtorch_cpu.so"))
			return true;
	return false;
}

void xp_cuda_check_target(struct xp_session *session, struct xp_plan *plan)
{
	struct xp_agent_place place = xp_agent_file_place(session);
	struct xp_cupti_choice choice = { 0 };
	xp_auto_err err = { 0 };

	if (wants_cupti(plan) &&
	    xp_cupti_find(plan->target, (unsigned)xp_flag_u64(session, "--cuda-major", 0), session->arena, &choice, &err))
		xp_plan_add_issue(plan, &err, NULL);
	else if (xp_cupti_version_check(plan->target, xp_plan_wants_activities(plan), &choice, &err))
		xp_plan_add_issue(plan, &err, NULL);
	else if (wants_cupti(plan))
		xp_cupti_warn_before(&plan->warnings, plan, &choice);
	if (plan->records_only && xp_records_only_check(plan, &err))
		xp_plan_add_issue(plan, &err, NULL);
	if (xp_agent_check(plan->target, &place, session->arena, &plan->agent_loaded, &err))
		xp_plan_add_issue(plan, &err, NULL);
	if (wants_cupti(plan) && xp_cuda_maps_profiler(plan->target))
		xp_warn(&plan->warnings, "TORCH_PROFILER_PRESENT", NULL,
			"the process maps torch.profiler; a profile that is first started during a capture has no GPU events until the "
			"process restarts");
}

void xp_cuda_check(struct xp_session *session, struct xp_plan *plan)
{
	/* Without a driver in the target the endpoints have said so already. */
	if (xp_plan_wants_agent(plan) && !plan->n_issues)
		xp_cuda_check_target(session, plan);
}

void xp_cuda_warn_injected(struct xp_session *session, unsigned cuda_major, const char *agent_path, const char *cupti_path)
{
	xp_warn(&session->warnings, "CUPTI_AGENT_INJECTED",
		json_pack("{s:i,s:s,s:s}", "cuda_major", (int)cuda_major, "agent_path", agent_path, "cupti_path", cupti_path),
		"the agent was brought into the process and stays mapped there, idle");
}

int xp_cuda_prepare(struct xp_session *session, struct xp_target *target, uint64_t deadline_ms, struct xp_agent_options *ret_options,
		    struct xp_opt_f64 *ret_stall_ms, struct xp_err *reterr)
{
	struct xp_agent_place place = xp_agent_file_place(session);
	xp_auto(xp_agent_link_close) struct xp_agent_link *link = NULL;
	struct xp_cupti_choice choice;
	uint64_t stall_ns;
	bool injected;

	int rc = xp_cupti_find(target, (unsigned)xp_flag_u64(session, "--cuda-major", 0), session->arena, &choice, reterr);
	if (!rc)
		rc = xp_agent_bring(target, &place, &link, &injected, &stall_ns, reterr);
	if (rc)
		return rc;
	if (injected) {
		*ret_stall_ms = (struct xp_opt_f64)XP_SOME((double)stall_ns / 1e6);
		xp_cuda_warn_injected(session, choice.major, place.agent_path, choice.path);
	}
	if (xp_cuda_maps_profiler(target)) {
		/* The result comes too late to think better of it. */
		fputs("xprobe: warning: the target maps torch.profiler; a first profile started meanwhile gets no GPU events\n", stderr);
		xp_warn(&session->warnings, "TORCH_PROFILER_PRESENT", NULL,
			"the process maps torch.profiler; a profile that is first started during this capture has no GPU events until the "
			"process restarts");
	}
	*ret_options = (struct xp_agent_options){
		.session = session->session_id,
		.cupti_path = choice.path,
		.cuda_major = choice.major,
		.records_only = xp_flag_on(session, "--records-only"),
		.deadline_ms = deadline_ms,
	};
	return 0;
}

int xp_agent_prepare(struct xp_session *session, const struct xp_plan *plan, struct xp_agent_options *ret_options,
		     struct xp_opt_f64 *ret_stall_ms, struct xp_err *reterr)
{
	struct xp_agent_place place = xp_agent_file_place(session);
	xp_auto(xp_agent_link_close) struct xp_agent_link *link = NULL;
	uint64_t stall_ns;
	bool injected;

	if (wants_cupti(plan))
		return xp_cuda_prepare(session, plan->target, plan->bounds.timeout_ms, ret_options, ret_stall_ms, reterr);
	int rc = xp_agent_bring(plan->target, &place, &link, &injected, &stall_ns, reterr);
	if (rc)
		return rc;
	if (injected) {
		*ret_stall_ms = (struct xp_opt_f64)XP_SOME((double)stall_ns / 1e6);
		xp_warn(&session->warnings, "CUPTI_AGENT_INJECTED", json_pack("{s:s}", "agent_path", place.agent_path),
			"the agent was brought into the process and stays mapped there, idle");
	}
	*ret_options = (struct xp_agent_options){ .session = session->session_id, .deadline_ms = plan->bounds.timeout_ms };
	return 0;
}

static struct xp_opt_f64 larger(struct xp_opt_f64 a, struct xp_opt_f64 b)
{
	return !a.set || (b.set && b.v > a.v) ? b : a;
}

void xp_cuda_warn_effects(struct xp_session *session, const struct xp_agent_facts *facts)
{
	if (facts->arm_ms.set && facts->arm_ms.v > 0)
		xp_warn(&session->warnings, "ARM_STALL", json_pack("{s:f}", "ms", facts->arm_ms.v),
			"the first arm stopped the program's CUDA calls for about %.1f ms", facts->arm_ms.v);
	xp_cupti_warn_after(&session->warnings, facts);
	if (facts->residual_ns_per_launch.set)
		xp_warn(&session->warnings, "RESIDUAL_COST", json_pack("{s:I}", "ns", (json_int_t)facts->residual_ns_per_launch.v),
			"each launch of this process stays dearer by about %llu ns until it ends",
			(unsigned long long)facts->residual_ns_per_launch.v);
	if (facts->counters.graph_predates)
		xp_warn(&session->warnings, "PREDATES_ATTACH", json_pack("{s:I}", "activities", (json_int_t)facts->counters.graph_predates),
			"CUDA graphs that were built before the agent came were launched");
}

void xp_cuda_conclude(struct xp_session *session, const struct xp_agent_facts *facts, struct xp_opt_f64 injection_stall_ms,
		      struct xp_window *window, struct xp_captured *captured)
{
	struct xp_agent_facts *kept = xp_arena_new_of(session->arena, struct xp_agent_facts);
	struct xp_cupti_account *cupti = xp_arena_new_of(session->arena, struct xp_cupti_account);
	const struct xp_agent_counters *counters = &facts->counters;
	uint64_t retained = counters->callback_records + counters->activity_records;

	*kept = *facts;
	*cupti = (struct xp_cupti_account){
		.record_capacity = XP_AGENT_RING_MAX,
		.observed_records = retained + counters->callback_dropped + counters->activity_dropped + counters->cupti_dropped,
		.retained_records = retained,
		.dropped_records = counters->callback_dropped + counters->activity_dropped + counters->cupti_dropped,
		.buffer_utilization = (double)retained / XP_AGENT_RING_MAX > 1 ? 1 : (double)retained / XP_AGENT_RING_MAX,
	};
	captured->agent = kept;
	captured->cuda = xp_agent_cuda_account(facts, session->arena);
	captured->cupti = cupti;
	window->cost.stall_ms = larger(injection_stall_ms, facts->stall_ms);
	window->cost.residual_ns_per_launch = facts->residual_ns_per_launch;
	xp_cuda_warn_effects(session, facts);
}
