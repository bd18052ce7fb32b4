/* SPDX-License-Identifier: Apache-2.0 */
/* first_after: each start takes the first free end behind it, whatever thread or object it belongs to. No state. */
#include "correlate/match.h"

static unsigned rank(const struct xp_endpoint *start, const struct xp_endpoint *end)
{
	return XP_RANK_FIRST_AFTER;
}

static const char *method(const struct xp_endpoint *start)
{
	return "first_after";
}

static bool run(struct xp_match *match)
{
	return xp_match_in_order(match, NULL, match->n);
}

const struct xp_policy xp_policy_first_after = {
	.name = "first_after",
	.reason = "temporal_order_only",
	.confidence = XP_CONF_HEURISTIC,
	.rank = rank,
	.method = method,
	.run = run,
};
