/* SPDX-License-Identifier: Apache-2.0 */
/* What one start -> end pair of selectors gave: the part that a measurement and each edge of a graph have in common. */
#ifndef XP_RESULT_EDGE_H
#define XP_RESULT_EDGE_H

#include "base/note.h"
#include "collect/collector.h"
#include "collect/cuda_account.h"
#include "result/statistics.h"

struct xp_sample_counts {
	uint64_t matched, unmatched_start, unmatched_end, ambiguous, dropped;
};
extern const struct xp_record xp_sample_counts_record; /* "SampleCounts" */

struct xp_correlation {
	const char *method;
	int confidence; /* enum xp_confidence */
	struct xp_opt_f64 score;
	uint64_t one_to_many;
};
extern const struct xp_record xp_correlation_record; /* "Correlation" */

struct xp_clock_quality {
	int alignment; /* enum xp_alignment */
	struct xp_opt_u64 estimated_error_ns;
};
extern const struct xp_record xp_clock_quality_record; /* "ClockQuality" */

/* Facts about the capture that make one doubt a result; zeroed is "nothing to say". One for all edges of a capture. */
struct xp_capture_facts {
	enum xp_status status;
	const struct xp_window *window; /* NULL: completed input */
	const struct xp_cost *cost;	/* NULL: offline */
	const struct xp_cuda_account *cuda;
	uint64_t dropped; /* events lost between source and xprobe */
	bool source_loss_unknown, clock_stepped, records_only, kinds_left_on, correlation_unreliable, nvtx_partial;
	const char *cupti_caveat; /* effect of a known defect, NULL: none */
};

struct xp_edge_request {
	struct xp_store *store;
	const struct xp_pairs *pairs;
	const struct xp_endpoint *start, *end;
	enum xp_policy_id policy;
	const struct xp_capture_facts *facts;
};

struct xp_edge_value {
	struct xp_sample_counts samples;
	const struct xp_latency *latency_ns; /* NULL: no pair (only inside details.partial) */
	struct xp_correlation correlation;
	struct xp_clock_quality clock;
	struct xp_quality quality;
	const struct xp_statistics *statistics; /* NULL: no pair */
};
/* Everything in the value lives in the arena. RESOURCE_LIMIT. */
int xp_edge_make(const struct xp_edge_request *request, struct xp_arena *arena, struct xp_edge_value *ret_value, struct xp_err *reterr);

/* (unmatched_start + unmatched_end) / all; unset for 0 / 0. */
struct xp_opt_f64 xp_unmatched_share(const struct xp_pairs *pairs);
/* matched / all; unset for 0 / 0. */
struct xp_opt_f64 xp_score(const struct xp_pairs *pairs);

/* quality.c: the issues of contract 13 that concern exact measurements, in table order. */
void xp_edge_doubts(const struct xp_edge_request *request, const struct xp_edge_value *value, struct xp_issues *issues);
/* Those of them that concern the whole capture. */
void xp_capture_doubts(const struct xp_capture_facts *facts, struct xp_issues *issues);

#endif
