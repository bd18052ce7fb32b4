/* SPDX-License-Identifier: Apache-2.0 */
/* A planned graph to MeasurementGraphValidationResult, and its field tables. In: a graph. Out: a plain value. No state. */
#include "plan/graph_validation.h"

static const struct xp_checked_endpoint *check_endpoints(const struct xp_graph *graph)
{
	struct xp_arena *arena = graph->plan->arena;
	struct xp_checked_endpoint *out = xp_arena_array(arena, struct xp_checked_endpoint, graph->n_endpoints);

	for (size_t i = 0; i < graph->n_endpoints; i++) {
		const struct xp_graph_endpoint *endpoint = &graph->endpoints[i];

		out[i] = (struct xp_checked_endpoint){ endpoint->name, NULL, endpoint->used_by, endpoint->n_used_by };
		if (!endpoint->resolved)
			continue;
		struct xp_validated_endpoint *described = xp_arena_new_of(arena, struct xp_validated_endpoint);
		*described = xp_validated_endpoint_make(graph->plan, (unsigned)endpoint->index, endpoint->label);
		out[i].endpoint = described;
	}
	return out;
}

static void check_edge(const struct xp_graph *graph, const struct xp_graph_edge *edge, struct xp_checked_edge *ret_edge)
{
	struct xp_arena *arena = graph->plan->arena;
	const struct xp_graph_endpoint *start = edge->start, *end = edge->end;

	*ret_edge = (struct xp_checked_edge){
		.name = edge->spec->name,
		.valid = !edge->faulty,
		.match_policy = edge->spec->match_policy,
	};
	if (!start || !end || !start->resolved || !end->resolved)
		return;
	const struct xp_endpoint *from = &graph->plan->endpoints[start->index], *to = &graph->plan->endpoints[end->index];
	struct xp_advice *advice = xp_arena_new_of(arena, struct xp_advice);
	struct xp_requirements *requirements = xp_arena_new_of(arena, struct xp_requirements);

	*advice = xp_advice_of(from, to, arena);
	*requirements = xp_requirements_of(graph->plan, from, to);
	ret_edge->policy_recommendation = advice;
	ret_edge->requirements = requirements;
}

static void merge(struct xp_requirements *all, const struct xp_requirements *one)
{
	all->needs_ebpf |= one->needs_ebpf;
	all->needs_cupti |= one->needs_cupti;
	all->needs_cupti_callback |= one->needs_cupti_callback;
	all->needs_cupti_activity |= one->needs_cupti_activity;
	all->needs_nvtx |= one->needs_nvtx;
	all->needs_clock_alignment |= one->needs_clock_alignment;
	all->target_mutation |= one->target_mutation;
	/* enum xp_activation rises with what has to happen. */
	if (one->agent_activation > all->agent_activation)
		all->agent_activation = one->agent_activation;
}

static struct xp_graph_limits limits_of(const struct xp_graph *graph)
{
	return (struct xp_graph_limits){
		.edges = { (uint32_t)graph->spec->n_edges, XP_MAX_EDGES },
		.endpoints = { (uint32_t)graph->spec->n_endpoints, XP_MAX_ENDPOINTS },
		.cuda_filters = { graph->cuda_filters, XP_MAX_CUDA_FILTERS },
		.linux_slots = { graph->linux_slots, XP_MAX_LINUX_SLOTS },
	};
}

struct xp_graph_validation xp_graph_validation_make(const struct xp_graph *graph)
{
	struct xp_plan *plan = graph->plan;
	struct xp_checked_edge *edges = xp_arena_array(plan->arena, struct xp_checked_edge, graph->n_edges);
	struct xp_graph_validation out = {
		.valid = graph->n_issues == 0,
		.target = *xp_target_identity(plan->target),
		.name = graph->spec->name,
		.endpoints = check_endpoints(graph),
		.n_endpoints = graph->n_endpoints,
		.edges = edges,
		.n_edges = graph->n_edges,
		.requirements = { .agent_activation = XP_AGENT_NOT_REQUIRED },
		.limits = limits_of(graph),
		.issues = graph->issues,
		.n_issues = graph->n_issues,
		.features = plan->features,
		.n_features = plan->n_features,
	};

	for (size_t i = 0; i < graph->n_edges; i++) {
		check_edge(graph, &graph->edges[i], &edges[i]);
		if (edges[i].requirements)
			merge(&out.requirements, edges[i].requirements);
	}
	xp_validation_warn(plan, &out.requirements);
	out.warnings = plan->warnings.at;
	out.n_warnings = plan->warnings.n;
	return out;
}

const char *const xp_graph_scope_names[XP_SCOPE_COUNT] = {
	[XP_SCOPE_GRAPH] = "graph",
	[XP_SCOPE_ENDPOINT] = "endpoint",
	[XP_SCOPE_EDGE] = "edge",
};

const char *const xp_graph_rule_names[XP_GRAPH_RULE_COUNT] = {
	[XP_GRAPH_EDGE_COUNT] = "edge_count",
	[XP_GRAPH_ENDPOINT_COUNT] = "endpoint_count",
	[XP_GRAPH_BOUNDS] = "bounds",
	[XP_GRAPH_DUPLICATE_EDGE] = "duplicate_edge",
	[XP_GRAPH_CUDA_FILTERS] = "cuda_filters",
	[XP_GRAPH_MIXED_ACTIVATION] = "mixed_activation",
	[XP_GRAPH_UNUSED] = "unused",
	[XP_GRAPH_SELECTOR] = "selector",
	[XP_GRAPH_RESOLUTION] = "resolution",
	[XP_GRAPH_CAPABILITY] = "capability",
	[XP_GRAPH_UNKNOWN_ENDPOINT] = "unknown_endpoint",
	[XP_GRAPH_POLICY] = "policy",
	[XP_GRAPH_CLOCK] = "clock",
};

static const struct xp_field endpoint_fields[] = {
	XP_FIELD(xp_checked_endpoint, name, STR, "as in the spec"),
	XP_FIELD_PTR(xp_checked_endpoint, endpoint, &xp_validated_endpoint_record, "null: not resolved", .flags = XP_NULLABLE),
	XP_FIELD_STRS(xp_checked_endpoint, used_by, "edges that name it"),
};
static const struct xp_record endpoint_record =
	XP_RECORD("GraphEndpoint", xp_checked_endpoint, endpoint_fields, "one endpoint of a graph after resolution");

static const struct xp_field edge_fields[] = {
	XP_FIELD(xp_checked_edge, name, STR, "as in the spec"),
	XP_FIELD(xp_checked_edge, valid, BOOL, "no issue stands against it or its endpoints"),
	XP_FIELD_ENUM(xp_checked_edge, match_policy, xp_policy_names, "policy as given"),
	XP_FIELD_PTR(xp_checked_edge, policy_recommendation, &xp_advice_record, "null: an endpoint is not resolved", .flags = XP_NULLABLE),
	XP_FIELD_PTR(xp_checked_edge, requirements, &xp_requirements_record, "null: an endpoint is not resolved", .flags = XP_NULLABLE),
};
static const struct xp_record edge_record = XP_RECORD("GraphEdgeCheck", xp_checked_edge, edge_fields, "one edge judged like a single pair");

static const struct xp_field use_fields[] = {
	XP_FIELD(xp_use, used, U32, "by this graph"),
	XP_FIELD(xp_use, maximum, U32, "that one capture can have"),
};
static const struct xp_record use_record = XP_RECORD("GraphUse", xp_use, use_fields, "how much of a bounded supply a graph takes");

static const struct xp_field limit_fields[] = {
	XP_FIELD_OBJ(xp_graph_limits, edges, &use_record, "edges of the spec"),
	XP_FIELD_OBJ(xp_graph_limits, endpoints, &use_record, "endpoints of the spec"),
	XP_FIELD_OBJ(xp_graph_limits, cuda_filters, &use_record, "filters in the agent, equal ones merged"),
	XP_FIELD_OBJ(xp_graph_limits, linux_slots, &use_record, "host endpoints, equal ones merged"),
};
static const struct xp_record limits_record =
	XP_RECORD("GraphLimits", xp_graph_limits, limit_fields, "what a graph takes of what there is");

static const struct xp_field issue_fields[] = {
	XP_FIELD_ENUM(xp_graph_issue, scope, xp_graph_scope_names, "what it is about"),
	XP_FIELD(xp_graph_issue, name, STR, "the endpoint or edge; null: the whole graph", .flags = XP_NULLABLE),
	XP_FIELD_ENUM(xp_graph_issue, rule, xp_graph_rule_names, "rule of contract 10.6 that is broken"),
	XP_FIELD(xp_graph_issue, code, STR, "error code that measure would end with"),
	XP_FIELD(xp_graph_issue, message, STR, "one sentence for people"),
};
static const struct xp_record issue_record =
	XP_RECORD("GraphIssue", xp_graph_issue, issue_fields, "a reason why this graph cannot run now");

static const struct xp_field validation_fields[] = {
	XP_FIELD_CONST("schema_version", "3.0", "version of this record"),
	XP_FIELD_TRUE("ok", "always true"),
	XP_FIELD(xp_graph_validation, valid, BOOL, "no issue; callers must stop on false"),
	XP_FIELD_OBJ(xp_graph_validation, target, &xp_target_id_record, "the process looked at"),
	XP_FIELD(xp_graph_validation, name, STR, "of the spec; null: none", .flags = XP_NULLABLE),
	XP_FIELD_LIST(xp_graph_validation, endpoints, &endpoint_record, "in spec order; the first 64"),
	XP_FIELD_LIST(xp_graph_validation, edges, &edge_record, "in spec order; the first 64"),
	XP_FIELD_OBJ(xp_graph_validation, requirements, &xp_requirements_record, "what all edges together need"),
	XP_FIELD_OBJ(xp_graph_validation, limits, &limits_record, "counts and their maxima"),
	XP_FIELD_LIST(xp_graph_validation, issues, &issue_record, "every fault, not only the first"),
	XP_FIELD_LIST(xp_graph_validation, features, &xp_feature_record, "every missing right, as tried"),
	XP_FIELD_LIST(xp_graph_validation, warnings, &xp_warning_record, "contract 1.6"),
};
const struct xp_record xp_graph_validation_record = XP_RECORD("MeasurementGraphValidationResult", xp_graph_validation, validation_fields,
							      "whether a graph can be measured, and every reason why not");
