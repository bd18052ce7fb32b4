/* SPDX-License-Identifier: Apache-2.0 */
/* Which policies fit a pair, best first (contract 9). In: two endpoints. Out: a recommendation. No state. */
#include <string.h>

#include "plan/plan.h"

#define XP_POLICY(id, stem) extern const struct xp_policy xp_policy_##stem;
#include "plan/policy_list.def"
#undef XP_POLICY

static const struct xp_policy *const policies[XP_POLICY_COUNT] = {
#define XP_POLICY(id, stem) [XP_POLICY_##id] = &xp_policy_##stem,
#include "plan/policy_list.def"
#undef XP_POLICY
};

const char *const xp_policy_names[XP_POLICY_COUNT] = {
#define XP_POLICY(id, stem) [XP_POLICY_##id] = #stem,
#include "plan/policy_list.def"
#undef XP_POLICY
};

const struct xp_policy *xp_policy_at(unsigned policy)
{
	return policies[policy];
}

/* "first-after" is "first_after". */
static bool same_name(const char *given, const char *name)
{
	for (; *given && *name; given++, name++)
		if (*given != *name && !(*given == '-' && *name == '_'))
			return false;
	return *given == *name;
}

int xp_policy_from_name(const char *name)
{
	for (int i = 0; i < XP_POLICY_COUNT; i++)
		if (same_name(name, xp_policy_names[i]))
			return i;
	return -1;
}

/* The possible policy of the lowest rank, XP_POLICY_COUNT when none is left. */
static unsigned best_of(const unsigned *rank)
{
	unsigned best = XP_POLICY_COUNT;

	for (unsigned i = 0; i < XP_POLICY_COUNT; i++)
		if (rank[i] != XP_RANK_IMPOSSIBLE && (best == XP_POLICY_COUNT || rank[i] < rank[best]))
			best = i;
	return best;
}

struct xp_recommendation xp_recommend(const struct xp_endpoint *start, const struct xp_endpoint *end)
{
	struct xp_recommendation out = { .policy = -1 };
	unsigned rank[XP_POLICY_COUNT], best;

	for (unsigned i = 0; i < XP_POLICY_COUNT; i++) {
		rank[i] = policies[i]->rank(start, end);
		out.possible[i] = rank[i] != XP_RANK_IMPOSSIBLE;
	}
	while ((best = best_of(rank)) != XP_POLICY_COUNT) {
		if (out.policy < 0) {
			out.policy = (int)best;
			out.reason = policies[best]->reason;
		}
		out.compatible_policies[out.n_compatible++] = xp_policy_names[best];
		rank[best] = XP_RANK_IMPOSSIBLE;
	}
	return out;
}
