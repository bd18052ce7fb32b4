/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI's version in words. In: plan, choice, facts. Out: warnings and refusals. No state. */
#include "cmd/measure_cupti.h"

#include "engine/cupti_version.h"

bool xp_plan_wants_activities(const struct xp_plan *plan)
{
	for (unsigned i = 0; i < plan->n_endpoints; i++)
		if (plan->endpoints[i].family->needs & XP_NEED_ACTIVITY)
			return true;
	return false;
}

int xp_cupti_version_check(const struct xp_target *target, bool activities, const struct xp_cupti_choice *choice, struct xp_err *reterr)
{
	if (!activities || !xp_cupti_loses_contexts(target, choice))
		return 0;
	xp_fail(reterr, XP_E_UNSUPPORTED_CUDA_VERSION,
		"GPU activities on CUPTI 12.9 and 13.0 may take the program's context along; 12.8 and 13.0 U1 do not");
	xp_err_object(reterr, "%s", choice->path);
	xp_err_hint(
		reterr,
		"start the program with the CUPTI of CUDA 12.8, or with nvidia-cuda-cupti 13.0.85 or newer, or measure CUDA calls alone");
	return -XP_E_UNSUPPORTED_CUDA_VERSION;
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

int xp_cupti_refuse(struct xp_session *session, const struct xp_plan *plan, struct xp_err *reterr)
{
	struct xp_cupti_choice choice;
	int rc = plan->records_only ? xp_records_only_check(plan, reterr) : 0;

	if (rc || !xp_plan_wants_activities(plan))
		return rc;
	rc = xp_cupti_find(plan->target, (unsigned)xp_flag_u64(session, "--cuda-major", 0), session->arena, &choice, reterr);
	return rc ? rc : xp_cupti_version_check(plan->target, true, &choice, reterr);
}

void xp_cupti_warn_before(struct xp_warnings *warnings, const struct xp_plan *plan, const struct xp_cupti_choice *choice)
{
	if (!xp_plan_wants_activities(plan) || !xp_cupti_is_old(choice))
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
