/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What GPU activity leaves on each launch: driver launch calls are timed under callbacks alone, before the first capture of activities in
 * this process and behind each one. In: entry and exit times. Out: the difference of the medians. State: xp_agent.residual.
 */
#include "agent/work.h"

enum { ENOUGH = 300, FEWEST = 50, MOST_WAIT_MS = 30, MOST_BELIEVED_NS = 5000 };

void xp_agent_residual_note(uint64_t ns, bool after)
{
	struct launch_times *times = after ? &xp_agent.residual.after : &xp_agent.residual.before;
	uint64_t bucket = ns / AGENT_TIMES_STEP_NS;

	__atomic_fetch_add(&times->of[bucket < AGENT_TIMES ? bucket : AGENT_TIMES - 1], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&times->n, 1, __ATOMIC_RELAXED);
}

static uint64_t median(const struct launch_times *times)
{
	uint64_t half = times->n / 2, sum = 0;
	unsigned i = 0;

	while (i < AGENT_TIMES - 1 && (sum += times->of[i]) <= half)
		i++;
	return (uint64_t)i * AGENT_TIMES_STEP_NS;
}

static void wait_for(const struct launch_times *times, uint32_t enough)
{
	for (unsigned ms = 0; ms < MOST_WAIT_MS && __atomic_load_n(&times->n, __ATOMIC_RELAXED) < enough; ms++)
		xp_agent_sleep_ms(1);
}

/* Only before any kind was ever on can a launch be seen without what they leave. A program that launches nothing now is not waited for. */
int xp_agent_residual_before(void)
{
	struct residual *residual = &xp_agent.residual;
	bool first = !residual->began;

	residual->began = true;
	for (unsigned i = 0; i < sizeof(residual->after) / sizeof(uint32_t); i++)
		__atomic_store_n((uint32_t *)&residual->after + i, 0, __ATOMIC_RELAXED);
	if (!first)
		return XP_AGENT_OK;
	__atomic_store_n(&xp_agent.view.timing, true, __ATOMIC_RELAXED);
	wait_for(&residual->before, ENOUGH);
	__atomic_store_n(&xp_agent.view.timing, false, __ATOMIC_RELAXED);
	return XP_AGENT_OK;
}

/* Another kind of launches than before the capture would be compared with those: a difference that CUPTI never showed is not told. */
void xp_agent_residual_after(void)
{
	const struct residual *residual = &xp_agent.residual;
	struct xp_agent_counters *counters = &xp_agent.control->counters;
	uint64_t before_ns, after_ns;

	if (residual->before.n >= FEWEST && residual->after.n)
		wait_for(&residual->after, FEWEST);
	before_ns = median(&residual->before);
	after_ns = median(&residual->after);
	if (residual->before.n < FEWEST || residual->after.n < FEWEST || after_ns > before_ns + MOST_BELIEVED_NS)
		return;
	counters->residual_ns = after_ns > before_ns ? after_ns - before_ns : 0;
	counters->residual_launches = residual->after.n;
}
