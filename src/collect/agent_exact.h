/* SPDX-License-Identifier: Apache-2.0 */
/* The exact capture of CUDA endpoints by the agent, as a collector beside the host's (collect/exact.h): same window, same store. */
#ifndef XP_COLLECT_AGENT_EXACT_H
#define XP_COLLECT_AGENT_EXACT_H

#include "collect/agent_capture.h"
#include "collect/collector.h"
#include "collect/exact.h"

struct xp_agent_exact;

/*
 * For the plan's CUDA endpoints, at least one; borrows the plan and `host` (the host's capture of the same plan, whose store is used; NULL:
 * the plan has none, a store of its own is made) until it is freed. Touches nothing of the target; its agent must be there when it is
 * armed.
 */
int xp_agent_exact_new(const struct xp_plan *plan, const struct xp_agent_options *options, struct xp_exact *host,
		       struct xp_agent_exact **ret_exact, struct xp_err *reterr);
void xp_agent_exact_free(struct xp_agent_exact *exact);
XP_DEFINE_AUTO(struct xp_agent_exact *, xp_agent_exact_free);

/* Does the agent collect such an endpoint? */
bool xp_agent_serves(const struct xp_endpoint *endpoint);
/* Adds the filters that the plan's CUDA endpoints need, equal ones once. SESSION_LIMIT_EXCEEDED: more than 8 different ones. */
int xp_agent_filters(const struct xp_plan *plan, struct xp_agent_request *request, struct xp_err *reterr);

/*
 * Must be the last one of the window (agent_capture.h). Wants to end when every edge of the plan, the host's included, has `samples` pairs
 * (a lower bound; the correlator has the last word), or when the store is full.
 */
struct xp_collector xp_agent_exact_collector(struct xp_agent_exact *exact);

/* After the window: */
struct xp_store *xp_agent_exact_store(struct xp_agent_exact *exact);
/* Records that reached the tool, retained or not. */
uint64_t xp_agent_exact_observed(const struct xp_agent_exact *exact);
struct xp_agent_facts xp_agent_exact_facts(const struct xp_agent_exact *exact);
/* cupti_callback and cupti_activity, as far as in use, in the arena (contract 15.1). */
struct xp_account *xp_agent_exact_accounts(const struct xp_agent_exact *exact, struct xp_arena *arena, size_t *ret_n);

#endif
