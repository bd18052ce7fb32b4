/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs while a capture is on, and how it ends: kinds off (before CUPTI 13.0 U1 behind the gate), what CUPTI still holds (flush.c),
 * unsubscribe under quarantine. Never a callback off, never a finalize.
 */
#include "agent/work.h"

#include "agent/gate.h"
#include "agent/nvtx.h"
#include "agent/steps.h"

void xp_agent_count_lost(void)
{
	struct xp_agent_counters *counters = &xp_agent.control->counters;
	size_t dropped = 0;

	if (xp_agent.n_kinds && !XP_AGENT_CALL(dropped(NULL, 0, &dropped)))
		counters->cupti_dropped += dropped;
	counters->cupti_dropped += xp_agent_buffers_lost();
	counters->buffers_refused = __atomic_load_n(&xp_agent.buffers.refused, __ATOMIC_RELAXED);
	xp_agent_sum_shards(counters);
}

/* Before and behind everything that may take long: a line is judged where it ends. */
static void clock_tick(void)
{
	struct tsc_pair pair;

	if (!xp_agent.tsc.possible)
		return;
	pair = xp_agent_tsc_pair();
	xp_agent_tsc_tick(&xp_agent.tsc, &pair);
	xp_agent.control->clock_error_ns = xp_agent.tsc.error_ns;
}

void xp_agent_tick(void)
{
	clock_tick();
	xp_agent_ring_warm();
	if (xp_agent.n_kinds)
		xp_agent_activities_read();
	else if (xp_agent.gate.left)
		xp_agent_buffers_drop();
	xp_agent_nvtx_tick();
	xp_agent_count_lost();
}

void xp_agent_kinds_off(void)
{
	__atomic_store_n(&xp_agent.view.no_launches, true, __ATOMIC_SEQ_CST);
	if (xp_agent.gate.on) {
		xp_agent_gate_kinds_off();
		return;
	}
	for (unsigned i = xp_agent.n_kinds; i-- > 0;)
		XP_AGENT_CALL(disable(xp_agent.kinds[i]));
}

void xp_agent_stop(void)
{
	uint64_t begin_ns = xp_agent_now();

	clock_tick();
	while (xp_agent.step > 0) {
		const struct agent_step *step = &xp_agent_steps[--xp_agent.step];

		if (step->off && xp_agent_step_applies(step))
			step->off();
	}
	clock_tick();
	xp_agent_count_lost();
	xp_agent.control->counters.stop_ns = xp_agent_now() - begin_ns;
}
