/* SPDX-License-Identifier: Apache-2.0 */
/* MeasurementGraphSpec (contract 10.5) as a value: named endpoints, and edges between them that one capture measures. */
#ifndef XP_PLAN_GRAPH_SPEC_H
#define XP_PLAN_GRAPH_SPEC_H

#include "plan/plan.h"

struct xp_graph_edge_spec {
	const char *name, *start, *end; /* start and end: names of endpoints */
	int match_policy;		/* enum xp_policy_id */
};

struct xp_graph_spec {
	const char *name;
	struct xp_target_id target;
	const struct xp_named_text *endpoints; /* name and selector, in the order of the file */
	size_t n_endpoints;
	const struct xp_graph_edge_spec *edges;
	size_t n_edges;
	struct xp_opt_u64 samples, duration_ms;
	uint64_t timeout_ms, max_events;
	struct xp_opt_f64 max_cost;
	struct xp_opt_bool allow_cxx_return;
};
extern const struct xp_record xp_graph_spec_record; /* "MeasurementGraphSpec", closed */

/*
 * Types and names only: INVALID_EVENT_SELECTOR. Counts, bounds and what the edges mean are judged by plan/graph.h, so that one look tells
 * every fault.
 */
int xp_graph_spec_read(const json_t *document, struct xp_arena *arena, struct xp_graph_spec *ret_spec, struct xp_err *reterr);

#endif
