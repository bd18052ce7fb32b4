/* SPDX-License-Identifier: Apache-2.0 */
/* How an exact capture ended: a status, or the error that contract 6.3, 6.10 and 1.5 ask for. Pure: no clock, no file, no target. */
#ifndef XP_RESULT_OUTCOME_H
#define XP_RESULT_OUTCOME_H

#include "result/edge.h"

struct xp_outcome_request {
	const struct xp_window *window; /* NULL: completed input, which has no window end */
	const struct xp_account *sources;
	size_t n_sources;
	const struct xp_pairs *pairs;
	const struct xp_endpoint *start, *end;
	enum xp_policy_id policy;
	struct xp_opt_u64 samples;   /* bound; unset: none */
	bool capacity_reached;	     /* an event found no place */
	uint64_t events, max_events; /* retained, and their bound */
	uint64_t observed_events;    /* retained and turned away; 0: as events */
	uint64_t host_events, cuda_events;
	double max_unmatched;	      /* < 0: not given */
	enum xp_err_code identity;    /* TARGET_EXITED or TARGET_REUSED when the target went away; else XP_E_NONE */
	bool dead_collection;	      /* launches seen, but not one activity (contract 15.1) */
	const char *const *api_calls; /* CUDA API names called in the window, for hints; NULL: not known */
	size_t n_api_calls;
	const char *edge; /* graph: name of this edge; NULL: a single pair */
};

/*
 * 0 and *ret_status (completed, timed_out, cancelled), or -code with details, hints and, when another failure was hidden,
 * details.original_error_code. The caller adds artifact_* and partial.
 */
int xp_outcome_of(const struct xp_outcome_request *request, enum xp_status *ret_status, struct xp_err *reterr);

#endif
