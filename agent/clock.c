/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI's clock -> CLOCK_MONOTONIC. In: brackets taken around cuptiGetTimestamp. Both clocks are slewed alike, so their difference is
 * constant until somebody sets the wall clock; each such step begins an epoch with an offset of its own. State: xp_agent.clock.
 */
#include "agent/work.h"

enum { TRIES = 9, SLACK_NS = 2000 };

struct bracket {
	int64_t offset;
	uint64_t width_ns, at_ns;
};

static bool take(struct bracket *best)
{
	bool have = false;

	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t before_ns = xp_agent_now(), cupti_ns = 0, after_ns;

		if (XP_AGENT_CALL(get_timestamp(&cupti_ns)) || !cupti_ns)
			continue;
		after_ns = xp_agent_now();
		if (have && after_ns - before_ns >= best->width_ns)
			continue;
		*best = (struct bracket){
			.offset = (int64_t)(cupti_ns - (before_ns + (after_ns - before_ns) / 2)),
			.width_ns = after_ns - before_ns,
			.at_ns = before_ns,
		};
		have = true;
	}
	return have;
}

void xp_agent_clock_bracket(void)
{
	struct clock *clock = &xp_agent.clock;
	struct xp_agent_counters *counters = &xp_agent.control->counters;
	struct bracket now;
	int64_t moved;

	if (!take(&now))
		return;
	if (now.width_ns / 2 > clock->bracket_ns)
		clock->bracket_ns = now.width_ns / 2;
	counters->bracket_ns = clock->bracket_ns;
	moved = clock->n ? now.offset - clock->epochs[clock->n - 1].offset : 0;
	if (!clock->n || (uint64_t)(moved < 0 ? -moved : moved) > now.width_ns + clock->bracket_ns + SLACK_NS) {
		counters->clock_steps += clock->n > 0;
		if (clock->n == AGENT_EPOCHS)
			clock->n--; /* the last one is replaced; the count of steps tells the doubt */
		/* The step lies anywhere behind the last bracket. */
		clock->epochs[clock->n++] = (struct epoch){ .offset = now.offset, .from_ns = clock->last_ns };
	}
	clock->last_ns = now.at_ns;
}

/* The youngest epoch whose answer lies in it. 0 when there is no clock. */
uint64_t xp_agent_clock_convert(uint64_t cupti_ns)
{
	const struct clock *clock = &xp_agent.clock;

	for (unsigned i = clock->n; i-- > 0;) {
		uint64_t ns = cupti_ns - (uint64_t)clock->epochs[i].offset;

		if (!i || (int64_t)(ns - clock->epochs[i].from_ns) >= 0)
			return ns;
	}
	return 0;
}
