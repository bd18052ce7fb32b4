/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which versions may do what (docs/cuda-versions.md), and kinds that a stop had to leave on: what they bring is thrown away, and the agent
 * tries again by itself, with a subscription that holds nothing but the gate. In: version and request. State: xp_agent.gate.
 */
#include "agent/gate.h"

#include <string.h>

#include "agent/steps.h"
#include "agent/work.h"

#include "src/event/api_name.h"

enum { RETRY_FIRST_MS = 5000, RETRY_DOUBLINGS = 6, HOLD_MS = 1000, STEP_MS = 10, THREADS_FIELD = 20 };

static bool wants_graph_launches(void)
{
	for (unsigned i = 0; i < xp_agent.request.n_filters; i++) {
		const struct xp_agent_filter *filter = &xp_agent.request.filters[i];

		if (filter->kind <= XP_CAPTURE_API_EXIT &&
		    (filter->match == XP_AGENT_MATCH_LAUNCH || xp_api_launches_graph(filter->name, strlen(filter->name))))
			return true;
	}
	return false;
}

static int refuse(const char *why)
{
	return xp_agent_say(XP_AGENT_UNSUPPORTED, "cuptiGetVersion", (int)xp_agent.version, why);
}

int xp_agent_gate_check(void)
{
	bool old = xp_agent.version < CUPTI_VERSION_13_0_U1;

	xp_agent.gate.on = old && xp_agent.n_kinds;
	if (!xp_agent.gate.on)
		return XP_AGENT_OK;
	/*
	 * Measured on an H200 (docs/cuda-versions.md): 12.9 and 13.0 lose the program's context while they record, whether or not kinds
	 * ever go off; never in 2,770 stops of 12.6 and 12.8.
	 */
	if (xp_agent.version >= CUPTI_VERSION_12_9)
		return refuse("12.9 and 13.0 may take the program's context along; 12.8 and older, and 13.0 U1 and newer, do not");
	if (xp_agent.request.flags & XP_AGENT_RECORDS_ONLY)
		return refuse("before 13.0 U1 no safe stop without a subscription");
	if (xp_agent.version < CUPTI_VERSION_12_2 && wants_graph_launches())
		return refuse("before 12.2 graph kernels may have no records");
	if (xp_agent_stat_field(THREADS_FIELD) > AGENT_GATE_MOST)
		return refuse("too many threads for a safe stop before 13.0 U1");
	return XP_AGENT_OK;
}

static void retry_later(void)
{
	struct gate *gate = &xp_agent.gate;

	gate->retry_ns = xp_agent_now() + ((uint64_t)RETRY_FIRST_MS << gate->retries) * AGENT_NS_PER_MS;
	gate->retries += gate->retries < RETRY_DOUBLINGS;
}

static bool wanted_elsewhere(uint32_t answered)
{
	return __atomic_load_n(&xp_agent.control->word.sequence, __ATOMIC_ACQUIRE) != answered ||
	       __atomic_load_n(&xp_agent.exiting, __ATOMIC_ACQUIRE);
}

static bool hold(uint32_t answered)
{
	for (unsigned waited = 0; waited < HOLD_MS; waited += STEP_MS) {
		if (wanted_elsewhere(answered))
			return false;
		xp_agent_sleep_ms(STEP_MS);
		xp_agent_buffers_drop();
	}
	return true;
}

/* The capture's own counters are a finished result: they stay as they are. */
static void try_again(uint32_t answered)
{
	const struct xp_agent_counters kept = xp_agent.control->counters;

	memset(&xp_agent.request, 0, sizeof(xp_agent.request));
	xp_agent.any_api = xp_agent.view.graphs = false;
	xp_agent.n_kinds = 0;
	xp_agent.gate.on = true;
	xp_agent.generation++;
	if (xp_agent_gate_new() || xp_agent_want_apis() || xp_agent_steps[0].on())
		return;
	if (!xp_agent_steps[1].on() && hold(answered))
		xp_agent_gate_kinds_off();
	if (!xp_agent.gate.left && xp_agent.buffers.requested) {
		XP_AGENT_CALL(flush_all(0));
		XP_AGENT_CALL(flush_all(CUPTI_FLUSH_FORCED));
		xp_agent_buffers_drop();
	}
	xp_agent_steps[0].off();
	xp_agent.control->counters = kept;
}

int xp_agent_gate_idle(int otherwise_ms, uint32_t answered)
{
	struct gate *gate = &xp_agent.gate;

	if (!gate->left) {
		gate->retries = 0;
		return otherwise_ms;
	}
	xp_agent_buffers_drop();
	if (!gate->retry_ns) {
		retry_later();
	} else if (xp_agent_now() >= gate->retry_ns && !gate->contexts && !wanted_elsewhere(answered)) {
		try_again(answered);
		retry_later();
	}
	return AGENT_TICK_MS;
}
