/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records out of CUPTI: as its buffers come full, by a flush where they do not, and at the stop by flush, a bounded wait for launches
 * without a record, flush, forced flush. In: the tick, the stop. Out: parsed records. State: xp_agent.flush.
 */
#include "agent/flush.h"

#include "agent/work.h"

enum { WAIT_STEP_MS = 10, QUIET = 1, QUIET_GRAPHS = 3, MOST_WAIT_MS = 3000, SLOW_FLUSH_MS = 250, RARE_FLUSH_MS = 500 };

void xp_agent_flushes_begin(void)
{
	xp_agent.flush.forced = false;
	xp_agent.flush.behind = false;
	xp_agent.flush.came = 0;
}

/* A flush before any buffer was asked for can hang. */
static bool can_flush(void)
{
	return __atomic_load_n(&xp_agent.buffers.requested, __ATOMIC_RELAXED) > 0;
}

/*
 * CUPTI before 13.4 U1 needs more of a CPU for each record the longer it has recorded in a process (docs/cuda-versions.md). When that CPU
 * is used up, flushes take seconds, and its memory grows by a hundred megabytes a second, on the GPU as well. A flush in which records were
 * lost has spoiled the result already: the capture ends there.
 */
static void watch_flush(uint64_t begin_ns, uint64_t losses)
{
	if (xp_agent.flush.behind || xp_agent.flush.last_ns - begin_ns < SLOW_FLUSH_MS * AGENT_NS_PER_MS ||
	    xp_agent_buffers_losses() == losses)
		return;
	xp_agent.flush.behind = true;
	xp_agent.flush.falls++;
}

/* The clock comes first, so that every record lies before a bracket. */
static uint64_t flush(uint32_t flags)
{
	uint64_t n, begin_ns, losses;

	xp_agent_clock_bracket();
	begin_ns = xp_agent_now();
	losses = xp_agent_buffers_losses();
	if (can_flush())
		XP_AGENT_CALL(flush_all(flags));
	xp_agent.flush.last_ns = xp_agent_now();
	watch_flush(begin_ns, losses);
	xp_agent.flush.forced = flags & CUPTI_FLUSH_FORCED;
	n = xp_agent_buffers_read();
	xp_agent.flush.forced = false;
	return n;
}

/* Where buffers come full by themselves, a flush is needed only for threads that fill theirs slowly. */
static bool flush_is_due(void)
{
	uint64_t age_ms = (xp_agent_now() - xp_agent.flush.last_ns) / AGENT_NS_PER_MS;

	return age_ms >= RARE_FLUSH_MS || (age_ms >= AGENT_TICK_MS * 9 / 10 && !xp_agent.flush.came);
}

void xp_agent_activities_read(void)
{
	if (flush_is_due()) {
		flush(0);
		xp_agent.flush.came = 0;
		return;
	}
	xp_agent_clock_bracket();
	xp_agent.flush.came = xp_agent_buffers_read();
}

/* Nodes of one graph launch come one by one behind the first: with graphs the silence must last. */
static void wait_for_launches(void)
{
	const struct xp_agent_counters *counters = &xp_agent.control->counters;
	const unsigned limit_ms = xp_agent.request.wait_ms < MOST_WAIT_MS ? xp_agent.request.wait_ms : MOST_WAIT_MS;
	const uint64_t until_ns = xp_agent_now() + limit_ms * AGENT_NS_PER_MS;
	unsigned enough, quiet = 0;

	flush(0);
	xp_agent_count_lost();
	enough = counters->graph_launches ? QUIET_GRAPHS : QUIET;
	while (!xp_agent.flush.behind && !xp_agent.exiting && xp_agent_now() < until_ns && !(quiet >= enough && !xp_agent_unmatched())) {
		xp_agent_sleep_ms(WAIT_STEP_MS);
		quiet = flush(0) ? 0 : quiet + 1;
	}
}

void xp_agent_settle(void)
{
	struct xp_agent_counters *counters = &xp_agent.control->counters;

	if (!xp_agent.flush.behind)
		wait_for_launches();
	if (xp_agent.exiting)
		return;
	if (!xp_agent.flush.behind)
		flush(0);
	/* With kinds left on it would destroy the records of kernels that go on running. */
	if (!xp_agent.flush.behind && !counters->left_on)
		flush(CUPTI_FLUSH_FORCED);
	counters->in_flight += xp_agent_unmatched();
	xp_agent_launches_settled();
}
