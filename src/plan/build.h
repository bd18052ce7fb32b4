/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a plan: parse, resolve, judge policies, try rights. Touches nothing in the target. */
#ifndef XP_PLAN_BUILD_H
#define XP_PLAN_BUILD_H

#include "plan/plan.h"

struct xp_plan_options {
	bool allow_cxx_return;
	bool try_rights; /* false: offline */
};

/* An empty plan on a target (NULL: offline). */
void xp_plan_init(struct xp_plan *plan, struct xp_target *target, struct xp_arena *arena);
/*
 * Parses a selector and adds it as an endpoint; an equal selector text gives the endpoint that is there. `label` names it in issues.
 * INVALID_EVENT_SELECTOR; SESSION_LIMIT_EXCEEDED when 16 are there.
 */
int xp_plan_endpoint(struct xp_plan *plan, const char *selector, const char *label, unsigned *ret_index, struct xp_err *reterr);
/*
 * Resolves endpoint `index` on the target. Errors of contract 5 that end a validation are returned with details.object = label;
 * what cannot run now becomes an issue (returns 0).
 */
int xp_plan_resolve(struct xp_plan *plan, unsigned index, const char *label, const struct xp_plan_options *options, struct xp_err *reterr);
/* What stands against pairing these endpoints by this policy becomes an issue, what one must know a warning. */
void xp_plan_judge(struct xp_plan *plan, unsigned start, unsigned end, enum xp_policy_id policy);
/* Adds an edge and judges it. There is room for 8. */
void xp_plan_edge(struct xp_plan *plan, const char *name, unsigned start, unsigned end, enum xp_policy_id policy);
/* Tries the rights that the endpoints need; missing ones become features and issues. Call once, last. */
int xp_plan_rights(struct xp_plan *plan, struct xp_err *reterr);
/* Takes *err (moves it) as an issue. */
void xp_plan_add_issue(struct xp_plan *plan, struct xp_err *err, const char *endpoint);
/* The whole of a single pair: both selectors, resolution, edge, rights. */
int xp_plan_pair(struct xp_plan *plan, const char *start, const char *end, enum xp_policy_id policy, const struct xp_plan_options *options,
		 struct xp_err *reterr);
/* The first issue as the error of a command that has to stop on it; 0 when there is none. */
int xp_plan_first_issue(const struct xp_plan *plan, struct xp_err *reterr);

#endif
