/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI's version in words. In: plan, choice, facts. Out: warnings and refusals. No state. */
#include "cmd/measure_cupti.h"

#include "engine/cupti_version.h"

static bool needs(const struct xp_plan *plan, unsigned what)
{
	for (unsigned i = 0; i < plan->n_endpoints; i++)
		if (plan->endpoints[i].family->needs & what)
			return true;
	return false;
}

int xp_records_only_check(const struct xp_plan *plan, struct xp_err *reterr)
{
	for (unsigned i = 0; i < plan->n_endpoints; i++) {
		if (!(plan->endpoints[i].family->needs & XP_NEED_CALLBACK))
			continue;
		xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR, "CUDA calls cannot be seen with --records-only");
		xp_err_object(reterr, "%s", plan->endpoints[i].selector);
		xp_err_hint(reterr, "name kernels, copies or sets at both ends");
		return -XP_E_INVALID_EVENT_SELECTOR;
	}
	return 0;
}

void xp_cupti_warn_before(struct xp_warnings *warnings, const struct xp_plan *plan, const struct xp_cupti_choice *choice)
{
	if (!needs(plan, XP_NEED_ACTIVITY) || !xp_cupti_is_old(plan->target, choice))
		return;
	xp_warn(warnings, "STOP_HOLDS_LAUNCHES", json_pack("{s:s}", "cupti_path", choice->path),
		"before CUPTI 13.0 U1 the stop holds up all launches until the GPU work queued at that moment has run; calls alone do not "
		"need it");
}

void xp_cupti_warn_after(struct xp_warnings *warnings, const struct xp_agent_facts *facts)
{
	uint32_t version = facts->identity.cupti_version;

	if (facts->holds_launches && !facts->kinds_left_on)
		xp_warn(warnings, "STOP_HOLDS_LAUNCHES",
			json_pack("{s:I,s:f}", "cupti_version", (json_int_t)version, "ms", (double)facts->counters.gate_ns / 1e6),
			"the stop held up the program's launches for %.1f ms", (double)facts->counters.gate_ns / 1e6);
	if (facts->cupti_caveat)
		xp_warn(warnings, "CUPTI_CAVEAT", json_pack("{s:I,s:s}", "version", (json_int_t)version, "effect", facts->cupti_caveat),
			"%s", facts->cupti_caveat);
}
