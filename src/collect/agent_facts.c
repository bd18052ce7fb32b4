/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent's counters say of a capture: how far its clock can be trusted, what it cost, what is doubtful. No state. */
#include "collect/agent_capture.h"
#include "collect/cupti_facts.h"
#include "collect/window_priv.h"

/* Measured on an H200 with CUPTI 13.0 U1: two-sided bound of a kernel's time, drift after the first subscription, what stays on a launch.
 */
enum { CLOCK_FLOOR_NS = 1500, FIRST_ERROR_NS = 10000, FIRST_SECONDS = 5, RESIDUAL_NS = 1000, DEAD_AFTER_MS = 100, STRAY_PERCENT = 1 };

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static bool wants_activities(const struct xp_agent_request *request)
{
	for (uint32_t i = 0; i < request->n_filters; i++)
		if (request->filters[i].kind >= XP_CAPTURE_KERNEL_START && request->filters[i].kind <= XP_CAPTURE_MEMSET_END)
			return true;
	return false;
}

/* Unused copies of the maths libraries were left alone on purpose. */
static bool is_partial(const struct xp_agent_nvtx *nvtx)
{
	return nvtx->foreign || nvtx->refused || nvtx->missed || nvtx->unnamed || nvtx->unplaced;
}

static bool wants_kernels(const struct xp_agent_request *request)
{
	for (uint32_t i = 0; i < request->n_filters; i++)
		if (request->filters[i].kind == XP_CAPTURE_KERNEL_START || request->filters[i].kind == XP_CAPTURE_KERNEL_END)
			return true;
	return false;
}

/*
 * Launches right before the stop may still be on their way; older ones without a single record mean that CUPTI delivers nothing. Of copies
 * and sets alone launches say nothing: a process may well launch and never copy.
 */
static bool is_dead(const struct xp_agent_capture *capture)
{
	const struct xp_agent_counters *c = &capture->counters;

	return wants_kernels(&capture->request) && c->first_launch_ns && !c->activities_seen &&
	       c->first_launch_ns + DEAD_AFTER_MS * XP_NS_PER_MS <= capture->close_ns;
}

struct xp_agent_facts xp_agent_capture_facts(const struct xp_agent_capture *capture)
{
	const struct xp_agent_counters *c = &capture->counters;
	bool activities = wants_activities(&capture->request);
	struct xp_agent_facts facts = {
		.identity = capture->identity,
		.counters = *c,
		.nvtx = capture->nvtx,
		.nvtx_partial = capture->wants_nvtx && is_partial(&capture->nvtx),
		.cupti_path = capture->cupti_path,
		.clock_error_ns = larger(larger(c->bracket_ns, c->worst_violation_ns), CLOCK_FLOOR_NS),
		.clock_stepped = c->clock_steps > 0,
		.records_only = capture->options.records_only,
		.correlation_unreliable = c->duplicate_ids > 0 || c->stray * 100 > c->activities_seen * STRAY_PERCENT,
		.activities = activities,
		.collection_dead = is_dead(capture),
	};

	if (c->stall_ns)
		facts.stall_ms = (struct xp_opt_f64)XP_SOME((double)c->stall_ns / XP_NS_PER_MS);
	/*
	 * What the target pays at most. The measured difference of medians scatters: below the version's known figure that one is told, and
	 * to a program that launched too little around the capture, or otherwise than before it.
	 */
	if (activities)
		facts.residual_ns_per_launch =
			(struct xp_opt_u64)XP_SOME(c->residual_launches ? larger(c->residual_ns, RESIDUAL_NS) : RESIDUAL_NS);
	xp_cupti_facts(&facts);
	return facts;
}

uint64_t xp_agent_clock_error(const struct xp_agent_facts *facts, uint64_t t_ns)
{
	uint64_t first_ns = facts->identity.first_subscribe_ns;
	bool early = first_ns && t_ns < first_ns + FIRST_SECONDS * XP_NS_PER_S;

	return early ? larger(facts->clock_error_ns, FIRST_ERROR_NS) : facts->clock_error_ns;
}
