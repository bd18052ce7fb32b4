/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs start and end events by one policy. In: a sorted store. Out: pairs by start time and the counts of contract 9. */
#ifndef XP_CORRELATE_CORRELATE_H
#define XP_CORRELATE_CORRELATE_H

#include "event/store.h"
#include "plan/plan.h"

enum xp_confidence { XP_CONF_EXACT, XP_CONF_HIGH, XP_CONF_HEURISTIC, XP_CONF_AMBIGUOUS, XP_CONF_COUNT };
extern const char *const xp_confidence_names[XP_CONF_COUNT];

struct xp_pair {
	uint32_t start, end; /* indices into xp_store_events */
};

struct xp_pairs {
	struct xp_pair *at;  /* by (start t_ns, start sequence, end t_ns, end sequence); malloc'd, see xp_pairs_done */
	uint64_t n;
	uint64_t unmatched_start, unmatched_end, ambiguous, one_to_many, within_clock_error;
	const char *method;
	enum xp_confidence confidence;
};
void xp_pairs_done(struct xp_pairs *pairs);

struct xp_correlate_request {
	const struct xp_endpoint *start, *end;
	uint32_t start_bit, end_bit; /* 1 << endpoint index, tested against xp_event.endpoints */
	enum xp_policy_id policy;
	uint64_t samples;	     /* 0: no bound; else keep the first N pairs and apply the cut of contract 9.1 rule 1 */
};

/*
 * CLOCK_ALIGNMENT_FAILED when the selected events' clocks cannot be subtracted. Otherwise 0, also for no pair at all.
 * The store must be sorted; its events are not changed.
 */
int xp_correlate(struct xp_store *store, const struct xp_correlate_request *request, struct xp_pairs *ret_pairs, struct xp_err *reterr);

#endif
