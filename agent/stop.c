/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs while a capture is on, and how it ends: kinds off (before CUPTI 13.0 U1 behind the gate), flush, a bounded wait for launches
 * without a record, flush, forced flush, unsubscribe under quarantine. Never a callback off, never a finalize.
 */
#include "agent/work.h"

#include "agent/gate.h"
#include "agent/nvtx.h"
#include "agent/steps.h"

enum { WAIT_STEP_MS = 10, QUIET = 1, QUIET_GRAPHS = 3, MOST_WAIT_MS = 3000 };

/* A flush before any buffer was asked for can hang. */
static bool can_flush(void)
{
	return __atomic_load_n(&xp_agent.buffers.requested, __ATOMIC_RELAXED) > 0;
}

static void count_lost(void)
{
	struct xp_agent_counters *counters = &xp_agent.control->counters;
	size_t dropped = 0;

	if (xp_agent.n_kinds && !XP_AGENT_CALL(dropped(NULL, 0, &dropped)))
		counters->cupti_dropped += dropped;
	counters->cupti_dropped += xp_agent_buffers_lost();
	counters->buffers_refused = __atomic_load_n(&xp_agent.buffers.refused, __ATOMIC_RELAXED);
	xp_agent_sum_shards(counters);
}

/* The clock comes first, so that every record lies before a bracket. */
static uint64_t flush(uint32_t flags)
{
	uint64_t n;

	xp_agent_clock_bracket();
	if (can_flush())
		XP_AGENT_CALL(flush_all(flags));
	xp_agent.flushed_ns = xp_agent_now();
	xp_agent.forced = flags & CUPTI_FLUSH_FORCED;
	n = xp_agent_buffers_read();
	xp_agent.forced = false;
	return n;
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
	if (xp_agent.n_kinds && xp_agent_now() - xp_agent.flushed_ns >= AGENT_TICK_MS * AGENT_NS_PER_MS * 9 / 10)
		flush(0);
	else if (xp_agent.n_kinds)
		xp_agent_buffers_read();
	else if (xp_agent.gate.left)
		xp_agent_buffers_drop();
	xp_agent_nvtx_tick();
	count_lost();
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

/* Nodes of one graph launch come one by one behind the first: with graphs the silence must last. */
void xp_agent_settle(void)
{
	struct xp_agent_counters *counters = &xp_agent.control->counters;
	unsigned limit_ms = xp_agent.request.wait_ms < MOST_WAIT_MS ? xp_agent.request.wait_ms : MOST_WAIT_MS, quiet = 0;

	const uint64_t until_ns = xp_agent_now() + limit_ms * AGENT_NS_PER_MS;

	flush(0);
	count_lost();
	unsigned enough = counters->graph_launches ? QUIET_GRAPHS : QUIET;
	while (xp_agent_now() < until_ns && !(quiet >= enough && !xp_agent_unmatched())) {
		xp_agent_sleep_ms(WAIT_STEP_MS);
		quiet = flush(0) ? 0 : quiet + 1;
		if (xp_agent.exiting)
			return;
	}
	flush(0);
	/* With kinds left on it would destroy the records of kernels that go on running. */
	if (!counters->left_on)
		flush(CUPTI_FLUSH_FORCED);
	counters->in_flight += xp_agent_unmatched();
	xp_agent_launches_settled();
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
	count_lost();
	xp_agent.control->counters.stop_ns = xp_agent_now() - begin_ns;
}
