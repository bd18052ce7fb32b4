/* SPDX-License-Identifier: Apache-2.0 */
/* A correlation policy that is only there to show that one file and one line add one. */
#include "correlate/match.h"

static unsigned rank(const struct xp_endpoint *start, const struct xp_endpoint *end)
{
	return XP_RANK_IMPOSSIBLE;
}

static const char *method(const struct xp_endpoint *start)
{
	return "toy";
}

static bool run(struct xp_match *match)
{
	return true;
}

const struct xp_policy xp_policy_toy = {
	.name = "toy",
	.reason = "toy",
	.confidence = XP_CONF_HEURISTIC,
	.rank = rank,
	.method = method,
	.run = run,
};
