/* SPDX-License-Identifier: Apache-2.0 */
/* What a correlation policy is: a descriptor in correlate/<policy>.c, one line in policy_list.def. Planning reads it, correlate/ runs it.
 */
#ifndef XP_PLAN_POLICY_H
#define XP_PLAN_POLICY_H

#include <stdbool.h>

struct xp_endpoint;
struct xp_match;

enum xp_confidence { XP_CONF_EXACT, XP_CONF_HIGH, XP_CONF_HEURISTIC, XP_CONF_AMBIGUOUS, XP_CONF_COUNT };
extern const char *const xp_confidence_names[XP_CONF_COUNT];

/* Places in the recommendation of contract 9, lower first. */
enum xp_policy_rank {
	XP_RANK_IMPOSSIBLE = 0,
	XP_RANK_CALL_FRAME = 10,
	XP_RANK_EXACT = 20,
	XP_RANK_STREAM = 30,
	XP_RANK_EXACT_OTHER_FILTER = 35, /* start -> end of one activity kind with different filters: stream order says more */
	XP_RANK_FIRST_AFTER = 40,
	XP_RANK_NEAREST = 50,
};

struct xp_policy {
	const char *name;   /* as in specs: "stack_nested" */
	const char *reason; /* policy_recommendation.reason when it comes first */
	enum xp_confidence confidence;
	unsigned (*rank)(const struct xp_endpoint *start, const struct xp_endpoint *end);
	/* `method` of contract 9; the pair is one that rank accepts. */
	const char *(*method)(const struct xp_endpoint *start);
	/* Finds the pairs and marks what is left over. False: out of memory. */
	bool (*run)(struct xp_match *match);
};

/* Indexed by enum xp_policy_id. */
const struct xp_policy *xp_policy_at(unsigned policy);

#endif
