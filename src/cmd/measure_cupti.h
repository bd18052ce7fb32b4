/* SPDX-License-Identifier: Apache-2.0 */
/* What a CUPTI version, and a subscription that is not to be taken, mean for a measurement: refusals and warnings. */
#ifndef XP_CMD_MEASURE_CUPTI_H
#define XP_CMD_MEASURE_CUPTI_H

#include "cmd/measure.h"
#include "collect/agent_capture.h"
#include "engine/cupti_find.h"
#include "plan/plan.h"

/* --records-only: INVALID_EVENT_SELECTOR for an endpoint that needs callbacks. */
int xp_records_only_check(const struct xp_plan *plan, struct xp_err *reterr);
/* UNSUPPORTED_CUDA_VERSION where it can be told before the agent is brought. */
int xp_cupti_version_check(const struct xp_target *target, bool activities, const struct xp_cupti_choice *choice, struct xp_err *reterr);
bool xp_plan_wants_activities(const struct xp_plan *plan);
/* Both of the above, for a measurement: before anything of the target changes. */
int xp_cupti_refuse(struct xp_session *session, const struct xp_plan *plan, struct xp_err *reterr);
/* STOP_HOLDS_LAUNCHES, as far as it can be known before. */
void xp_cupti_warn_before(struct xp_warnings *warnings, const struct xp_plan *plan, const struct xp_cupti_choice *choice);
/* STOP_HOLDS_LAUNCHES with its time, CUPTI_CAVEAT. */
void xp_cupti_warn_after(struct xp_warnings *warnings, const struct xp_agent_facts *facts);

#endif
