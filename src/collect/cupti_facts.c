/* SPDX-License-Identifier: Apache-2.0 */
/* Defects by CUPTI version, from NVIDIA's release notes; those that endanger the target are the agent's (agent/gate_policy.c). No state. */
#include "collect/cupti_facts.h"

#include "collect/window_priv.h"

/* Measured on an H200, CUPTI 12.8: a launch with kinds left on after the stop, against one before the first capture. */
enum { LEFT_ON_NS = 2300 };

static const struct {
	uint32_t from, below; /* cuptiGetVersion; updates inside 12.x cannot be told apart, so the worse one of a minor is assumed */
	unsigned touches;     /* XP_CUPTI_*: all of them; 0: every capture */
	const char *effect;
} defects[] = {
	{ 0, 20, 0, "CUPTI 12.0 and 12.1 may report no kernels of graphs that were built before the agent came" },
	{ 22, 24, 0, "CUPTI 12.4 and 12.5 may not report kernels at all; a newer nvidia-cuda-cupti-cu12 of the same major cures it" },
	{ 0, 130101, XP_CUPTI_GRAPHS | XP_CUPTI_LATER_CAPTURE,
	  "before CUPTI 13.1 U1 captures after the first of a process may tie graph kernels to the wrong launch; ids are checked" },
};

const char *xp_cupti_caveat(uint32_t version, unsigned seen)
{
	for (size_t i = 0; i < XP_LEN(defects); i++)
		if (version >= defects[i].from && version < defects[i].below && (seen & defects[i].touches) == defects[i].touches)
			return defects[i].effect;
	return NULL;
}

static bool is_later_capture(const struct xp_agent_facts *facts)
{
	/* The first subscription of a process is the one whose stall was measured. */
	return !facts->counters.stall_ns;
}

void xp_cupti_facts(struct xp_agent_facts *facts)
{
	const struct xp_agent_counters *c = &facts->counters;
	double held_ms = (double)c->gate_ns / XP_NS_PER_MS;
	unsigned seen = (c->graph_launches ? XP_CUPTI_GRAPHS : 0u) | (is_later_capture(facts) ? XP_CUPTI_LATER_CAPTURE : 0u);

	facts->arm_ms = facts->stall_ms;
	facts->holds_launches = facts->activities && facts->identity.cupti_version && facts->identity.cupti_version < XP_CUPTI_HOLDS_BELOW;
	facts->kinds_left_on = c->left_on != 0;
	if (facts->activities)
		facts->cupti_caveat = xp_cupti_caveat(facts->identity.cupti_version, seen);
	if (c->gate_ns && (!facts->stall_ms.set || held_ms > facts->stall_ms.v))
		facts->stall_ms = (struct xp_opt_f64)XP_SOME(held_ms);
	if (facts->kinds_left_on)
		facts->residual_ns_per_launch = (struct xp_opt_u64)XP_SOME(LEFT_ON_NS);
}

void xp_cupti_issues(const struct xp_agent_facts *facts, struct xp_issues *issues)
{
	if (facts->records_only)
		xp_issue_add(issues, "records_only", XP_CAUTION, NULL,
			     "launches were not counted: a dead collection cannot be told from an idle GPU");
	if (facts->kinds_left_on)
		xp_issue_add(issues, "kinds_left_on", XP_CAUTION, NULL,
			     "activity records stay switched on in the target until it is safe to stop them");
	if (facts->correlation_unreliable)
		xp_issue_add(issues, "correlation_unreliable", XP_CAUTION, NULL, "correlation ids failed their self-check");
	if (facts->cupti_caveat)
		xp_issue_add(issues, "cupti_caveat", XP_CAUTION, json_pack("{s:s}", "effect", facts->cupti_caveat),
			     "known defect of this CUPTI or driver version: %s", facts->cupti_caveat);
}
