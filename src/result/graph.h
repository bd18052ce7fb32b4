/* SPDX-License-Identifier: Apache-2.0 */
/* MeasurementGraphResult 3.0 (contract 10.6) as a plain value: several edges correlated one by one on one capture. */
#ifndef XP_RESULT_GRAPH_H
#define XP_RESULT_GRAPH_H

#include "result/measurement.h"

/* An exemplar whose events are in the artifact. */
struct xp_compact_exemplar {
	int rank; /* enum xp_rank */
	uint64_t latency_ns;
	const char *start_event_id, *end_event_id;
	uint64_t start_ns, end_ns;
};

struct xp_graph_edge_result {
	const char *name, *start, *end; /* start and end: names of endpoints */
	int match_policy;		/* enum xp_policy_id */
	struct xp_sample_counts samples;
	const struct xp_latency *latency_ns; /* NULL: the edge failed (only inside details.partial) */
	struct xp_correlation correlation;
	struct xp_clock_quality clock;
	struct xp_quality quality;
	struct xp_compact_exemplar *exemplars;
	size_t n_exemplars;
	const struct xp_pair_doc *pairs; /* NULL: summary */
	size_t n_pairs;
	/* Behind the document, for the human report: */
	const char *start_selector, *end_selector;
};

struct xp_graph_evidence {
	int mode;
	const struct xp_artifact *artifact; /* NULL: none */
};

struct xp_graph_result {
	const char *session_id;
	int status;
	const struct xp_target_id *target;
	const char *name;
	struct xp_graph_edge_result *edges;
	size_t n_edges;
	struct xp_collection collection;
	struct xp_quality quality; /* of the capture; caution when any edge is */
	struct xp_graph_evidence evidence;
	const struct xp_cost *cost;
	const struct xp_warning *warnings;
	size_t n_warnings;
	/* Behind the document: */
	struct xp_opt_u64 samples;	  /* bound of the spec */
	const char *invocation;		  /* how this xprobe is called, as a shell takes it; NULL: "xprobe" */
	const struct xp_artifact *report; /* html report; NULL: none */
	struct xp_arena *arena;
	unsigned shrunk; /* steps of xp_graph_shrink taken */
};
extern const struct xp_record xp_graph_result_record; /* "MeasurementGraphResult" */

struct xp_graph_edge_request {
	const char *name, *start, *end;
	struct xp_edge_request edge; /* all with the same facts; pairs NULL: they could not be correlated */
};

struct xp_graph_request {
	const char *session_id, *name;
	const struct xp_target_id *target;
	const struct xp_graph_edge_request *edges;
	size_t n_edges;
	struct xp_opt_u64 samples;
	struct xp_collection collection; /* host_events and cuda_events are counted here when both are 0 */
	const struct xp_artifact *artifact;
	const struct xp_warnings *warnings;
	enum xp_evidence_mode evidence;
};

/* At least one edge. Takes nothing; the value points into the arena, the stores and the request's parts. RESOURCE_LIMIT. */
int xp_graph_make(const struct xp_graph_request *request, struct xp_arena *arena, struct xp_graph_result **ret_value,
		  struct xp_err *reterr);
/*
 * For the size budget: first what edges repeat of the whole capture's quality, then details that repeat counts, then sentences of issues
 * that an edge before has told, at last those issues (the edge's verdict stays). False when nothing is left to cut. `value`: struct
 * xp_graph_result.
 */
bool xp_graph_shrink(void *value);

#endif
