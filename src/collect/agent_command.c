/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for answers of the agent. In: an open link with its lease. Out: the answer as a result. No state. */
#include "collect/agent_command.h"

#include <time.h>

#include "collect/collector.h"

enum { STEP_NS = 500000, STEPS_A_RENEWAL = 100 };

/* True when the answer came in time. `interruptible`: a signal ends the wait. */
static bool wait_answer(struct xp_agent_link *link, unsigned limit_ms, bool interruptible)
{
	uint64_t steps = (uint64_t)limit_ms * 1000000 / STEP_NS;
	struct timespec step = { .tv_nsec = STEP_NS };

	for (uint64_t i = 0; i < steps; i++) {
		if (xp_agent_link_answered(link))
			return true;
		if (interruptible && xp_interrupts() > 0)
			return false;
		if (i % STEPS_A_RENEWAL == 0)
			xp_agent_link_renew(link);
		nanosleep(&step, NULL);
	}
	return xp_agent_link_answered(link);
}

int xp_agent_arm(struct xp_agent_link *link, const struct xp_agent_request *request, struct xp_err *reterr)
{
	xp_agent_link_send(link, XP_AGENT_ARM, request);
	if (wait_answer(link, XP_AGENT_ARM_MS, true))
		return xp_agent_link_result(link, reterr);
	xp_agent_link_cancel(link);
	if (xp_interrupts() > 0)
		return xp_fail(reterr, XP_E_CANCELLED, "a signal ended the command while the agent was being armed");
	int rc = xp_fail_call(reterr, XP_E_SESSION_LIMIT_EXCEEDED, 0, "cuptiSubscribe", "agent");
	xp_err_say(reterr, "CUPTI did not let the agent subscribe within %d ms", XP_AGENT_ARM_MS);
	xp_err_limit(reterr, "arm_ms", XP_AGENT_ARM_MS, 1, XP_AGENT_ARM_MS);
	xp_err_hint(reterr,
		    "threads that launch without pause, or work queued on the GPU, starve the subscription; try at a quieter moment");
	return rc;
}

int xp_agent_stop(struct xp_agent_link *link, struct xp_err *reterr)
{
	xp_agent_link_send(link, XP_AGENT_STOP, NULL);
	if (wait_answer(link, XP_AGENT_STOP_MS, false))
		return xp_agent_link_result(link, reterr);
	int rc = xp_fail(reterr, XP_E_CLEANUP_FAILED, "the agent did not confirm its stop within %d ms; it disarms by itself",
			 XP_AGENT_STOP_MS);
	xp_err_detail(reterr, "cleanup_phase", json_string("agent_stop"));
	return rc;
}
