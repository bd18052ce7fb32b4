/* SPDX-License-Identifier: Apache-2.0 */
/* The exact host capture as a collector: plan + probe engine -> a store of events and the account of every one. */
#ifndef XP_COLLECT_EXACT_H
#define XP_COLLECT_EXACT_H

#include "collect/collector.h"
#include "event/store.h"
#include "plan/plan.h"

struct xp_exact;

/* Borrows the plan until it is freed; its host endpoints must be resolved, others are left to other collectors. Touches nothing of the
 * target. */
int xp_exact_new(const struct xp_plan *plan, struct xp_exact **ret_exact, struct xp_err *reterr);
void xp_exact_free(struct xp_exact *exact);
XP_DEFINE_AUTO(struct xp_exact *, xp_exact_free);

/*
 * Its state is `exact`. Wants to end when every edge of the plan has `samples` pairs (XP_END_SAMPLES; counted while draining and never
 * too early, the correlator has the last word) or when max_events are retained (XP_END_CAPACITY).
 */
struct xp_collector xp_exact_collector(struct xp_exact *exact);

/* What was retained; owned by `exact`, to be sorted by the caller after the window. */
struct xp_store *xp_exact_store(struct xp_exact *exact);
/* Events that reached the tool, retained or not (details.observed_events of a full capture). */
uint64_t xp_exact_observed(const struct xp_exact *exact);
/* One account a source in use, in the arena (contract 15.1). After the window. */
struct xp_account *xp_exact_accounts(const struct xp_exact *exact, struct xp_arena *arena, size_t *ret_n);

#endif
