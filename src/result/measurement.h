/* SPDX-License-Identifier: Apache-2.0 */
/* MeasurementResult 3.0 (contract 10.3) as a plain value, made from one capture and the pairs of one start -> end. */
#ifndef XP_RESULT_MEASUREMENT_H
#define XP_RESULT_MEASUREMENT_H

#include "collect/document.h"
#include "result/edge.h"
#include "result/event_record.h"

/* Contract 10.3 `collection`; graphs carry the same record. */
struct xp_cupti_account {
	uint64_t record_capacity, observed_records, retained_records, dropped_records;
	double buffer_utilization;
};
struct xp_collection {
	uint64_t host_events, cuda_events, dropped_events;
	const struct xp_cupti_account *cupti; /* NULL: no capture by CUPTI */
	uint64_t window_ns;
	const struct xp_account *sources;
	size_t n_sources;
	const struct xp_cuda_account *cuda; /* NULL: no CUDA endpoint */
};
extern const struct xp_record xp_collection_record; /* "Collection" */

struct xp_measured {
	const char *name, *start_selector, *end_selector;
	int match_policy; /* enum xp_policy_id */
	struct xp_sample_counts samples;
	const struct xp_latency *latency_ns;
};

struct xp_pair_doc {
	struct xp_event_doc start, end;
	uint64_t latency_ns;
};

struct xp_exemplar {
	int rank; /* enum xp_rank */
	struct xp_event_doc start, end;
	uint64_t latency_ns;
};

struct xp_measured_evidence {
	int mode;
	struct xp_exemplar *exemplars;
	size_t n_exemplars;
	const struct xp_pair_doc *pairs; /* NULL: summary */
	size_t n_pairs;
	const struct xp_artifact *artifact; /* NULL: none */
};

struct xp_measurement {
	const char *session_id;
	int status;
	const struct xp_target_id *target; /* NULL: offline without identity */
	struct xp_measured measurement;
	struct xp_correlation correlation;
	struct xp_clock_quality clock;
	struct xp_collection collection;
	struct xp_quality quality;
	struct xp_measured_evidence evidence;
	const struct xp_cost *cost; /* NULL: offline */
	const struct xp_warning *warnings;
	size_t n_warnings;
	/* Behind the document: for the human report, and for cutting names. */
	const struct xp_statistics *statistics;
	struct xp_arena *arena;
	size_t name_max;
};
extern const struct xp_record xp_measurement_record; /* "MeasurementResult" */

struct xp_measurement_request {
	const char *session_id, *name;
	const struct xp_target_id *target;
	struct xp_edge_request edge;	 /* store, pairs, endpoints, policy, facts */
	struct xp_collection collection; /* host_events and cuda_events are counted here when both are 0 */
	const struct xp_artifact *artifact;
	const struct xp_warnings *warnings;
	enum xp_evidence_mode evidence;
};

/*
 * Takes nothing; the value points into the arena, the store and the request's parts. `status` comes from the facts (XP_FAILED for
 * details.partial). Without a pair latency_ns is null and there is no exemplar: only inside details.partial. RESOURCE_LIMIT.
 */
int xp_measurement_make(const struct xp_measurement_request *request, struct xp_arena *arena, struct xp_measurement **ret_value,
			struct xp_err *reterr);
/* measurement_size.c. Takes repetitions out of the exemplars until the document is XP_SLIM_RESULT bytes or nothing repeats any more. */
enum { XP_SLIM_RESULT = 6144 };
void xp_measurement_slim(struct xp_measurement *value);
/* For the size budget: names in exemplars to 128, then 64 bytes, then selectors; false when nothing is left to cut. `value`: struct
 * xp_measurement. */
bool xp_measurement_shrink(void *value);

extern const struct xp_record xp_pair_record; /* "Pair" */
/* Every pair with its events, names cut; in the arena, never NULL. */
const struct xp_pair_doc *xp_pair_docs_make(const struct xp_edge_request *edge, struct xp_arena *arena, size_t *ret_n);
/* Counts filled in where they are 0. */
struct xp_collection xp_collection_complete(const struct xp_collection *known, struct xp_store *store);
/* Sources: the sum of `dropped`. */
uint64_t xp_dropped_of(const struct xp_account *sources, size_t n);
/* Retained events of the host, and of CUDA and NVTX. */
void xp_count_events(struct xp_store *store, uint64_t *ret_host, uint64_t *ret_cuda);
/* What an exact capture has to say besides its quality: TARGET_EXEC, TARGET_FORKED, HEURISTIC_CORRELATION, CLOCK_ERROR_UNAVAILABLE; each
 * once. */
void xp_measurement_warn(struct xp_warnings *warnings, const struct xp_edge_request *edge, const struct xp_edge_value *value);

#endif
