/* SPDX-License-Identifier: Apache-2.0 */
/* MeasurementGraphValidationResult 3.0 (contract 10.6) out of a planned graph. */
#ifndef XP_PLAN_GRAPH_VALIDATION_H
#define XP_PLAN_GRAPH_VALIDATION_H

#include "plan/graph.h"
#include "plan/validation.h"

struct xp_checked_endpoint {
	const char *name;
	const struct xp_validated_endpoint *endpoint; /* NULL: not resolved */
	const char *const *used_by;
	size_t n_used_by;
};

struct xp_checked_edge {
	const char *name;
	bool valid;
	int match_policy;
	const struct xp_advice *policy_recommendation; /* both NULL: an endpoint is not resolved */
	const struct xp_requirements *requirements;
};

struct xp_use {
	uint32_t used, maximum;
};

struct xp_graph_limits {
	struct xp_use edges, endpoints, cuda_filters, linux_slots;
};

struct xp_graph_validation {
	bool valid;
	struct xp_target_id target;
	const char *name;
	const struct xp_checked_endpoint *endpoints;
	size_t n_endpoints;
	const struct xp_checked_edge *edges;
	size_t n_edges;
	struct xp_requirements requirements;
	struct xp_graph_limits limits;
	const struct xp_graph_issue *issues;
	size_t n_issues;
	const struct xp_feature *features;
	size_t n_features;
	const struct xp_warning *warnings;
	size_t n_warnings;
};
extern const struct xp_record xp_graph_validation_record; /* "MeasurementGraphValidationResult" */
extern const char *const xp_graph_scope_names[XP_SCOPE_COUNT];
extern const char *const xp_graph_rule_names[XP_GRAPH_RULE_COUNT];

/* May add warnings to the plan, like xp_validation_make. */
struct xp_graph_validation xp_graph_validation_make(const struct xp_graph *graph);

#endif
