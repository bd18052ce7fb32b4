/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs start and end events by one policy. In: a sorted store. Out: pairs by start time and the counts of contract 9. */
#ifndef XP_CORRELATE_CORRELATE_H
#define XP_CORRELATE_CORRELATE_H

#include "event/store.h"
#include "plan/plan.h"

struct xp_pair {
	uint32_t start, end; /* indices into xp_store_events */
};

/* Contract 10.3 `clock.alignment`. */
enum xp_alignment { XP_ALIGN_HOST, XP_ALIGN_CUPTI, XP_ALIGN_NORMALIZED, XP_ALIGN_COUNT };
extern const char *const xp_alignment_names[XP_ALIGN_COUNT];

struct xp_pairs {
	struct xp_pair *at; /* by (start t_ns, start sequence, end t_ns, end sequence); malloc'd, see xp_pairs_done */
	uint64_t n;
	uint64_t unmatched_start, unmatched_end, ambiguous, one_to_many, within_clock_error;
	const char *method;
	enum xp_confidence confidence;
	enum xp_alignment alignment;
	uint64_t start_events, end_events; /* events that each selector picked, before any cut */
	bool launch_unknown;		   /* a selected activity has no launch to link to */
	bool nested_too_deep;		   /* stack_nested: more than 64 frames of the function open at a time in one thread */
};
void xp_pairs_done(struct xp_pairs *pairs);

struct xp_correlate_request {
	const struct xp_endpoint *start, *end;
	uint32_t start_bit, end_bit; /* 1 << endpoint index, tested against xp_event.endpoints */
	enum xp_policy_id policy;
	uint64_t samples;	   /* 0: no bound; else keep the first N pairs and apply the cut of contract 9.1 rule 1 */
	struct xp_opt_u64 last_ns; /* events later than this do not exist (contract 9.1 rule 2), see xp_correlate_last_ns */
};

/* first selected event + duration: the last_ns of an offline measurement with a duration. `bits`: all selectors that count. */
struct xp_opt_u64 xp_correlate_last_ns(struct xp_store *store, uint32_t bits, uint64_t duration_ms);

/*
 * CLOCK_ALIGNMENT_FAILED when the selected events' clocks cannot be subtracted. Otherwise 0, also for no pair at all.
 * The store must be sorted; its events are not changed.
 */
int xp_correlate(struct xp_store *store, const struct xp_correlate_request *request, struct xp_pairs *ret_pairs, struct xp_err *reterr);

#endif
