/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of contract 10.6 about a graph as a whole: counts, bounds, doubles, filters. In: spec and plan. Out: issues. No state. */
#include <string.h>

#include "plan/graph.h"
#include "plan/spec.h"

static void check_count(struct xp_graph *graph, enum xp_graph_rule rule, const char *what, size_t n, uint64_t max)
{
	xp_auto_err err = { 0 };

	if (xp_spec_bound(what, n, 1, max, &err))
		xp_graph_add_issue(graph, XP_SCOPE_GRAPH, NULL, rule, &err);
}

static void check_bound(struct xp_graph *graph, const char *what, uint64_t value, uint64_t min, uint64_t max)
{
	xp_auto_err err = { 0 };

	if (xp_spec_bound(what, value, min, max, &err))
		xp_graph_add_issue(graph, XP_SCOPE_GRAPH, NULL, XP_GRAPH_BOUNDS, &err);
}

static void refuse_bound(struct xp_graph *graph, const char *why)
{
	xp_auto_err err = { 0 };

	xp_fail(&err, XP_E_SESSION_LIMIT_EXCEEDED, "%s", why);
	xp_graph_add_issue(graph, XP_SCOPE_GRAPH, NULL, XP_GRAPH_BOUNDS, &err);
}

static void check_bounds(struct xp_graph *graph)
{
	const struct xp_graph_spec *spec = graph->spec;
	xp_auto_err cost = { 0 };

	check_bound(graph, "timeout_ms", spec->timeout_ms, 1, 3600000);
	check_bound(graph, "max_events", spec->max_events, 1, 50000000);
	if (spec->samples.set)
		check_bound(graph, "samples", spec->samples.v, 1, 10000000);
	if (spec->duration_ms.set)
		check_bound(graph, "duration_ms", spec->duration_ms.v, 1, 3600000);
	if (!spec->samples.set && !spec->duration_ms.set)
		refuse_bound(graph, "one of samples and duration_ms must be set");
	if (spec->max_cost.set && xp_spec_share("max_cost", spec->max_cost.v, &cost))
		xp_graph_add_issue(graph, XP_SCOPE_GRAPH, NULL, XP_GRAPH_BOUNDS, &cost);
	if (spec->name)
		check_bound(graph, "name", strlen(spec->name), 0, 256);
}

static void refuse_double(struct xp_graph *graph, const char *fmt, const char *one, const char *other)
{
	xp_auto_err err = { 0 };

	xp_fail(&err, XP_E_INVALID_EVENT_SELECTOR, "two edges %s: %s and %s", fmt, one, other);
	xp_err_object(&err, "%s", other);
	xp_graph_add_issue(graph, XP_SCOPE_GRAPH, NULL, XP_GRAPH_DUPLICATE_EDGE, &err);
}

/* Each edge is told at most once, against the first that it doubles. */
static void check_doubles(struct xp_graph *graph)
{
	for (size_t i = 1; i < graph->n_edges; i++) {
		const struct xp_graph_edge_spec *edge = graph->edges[i].spec;

		for (size_t k = 0; k < i; k++) {
			const struct xp_graph_edge_spec *before = graph->edges[k].spec;
			bool same_name = !strcmp(edge->name, before->name);
			bool same_pair = !strcmp(edge->start, before->start) && !strcmp(edge->end, before->end) &&
					 edge->match_policy == before->match_policy;

			if (!same_name && !same_pair)
				continue;
			refuse_double(graph, same_name ? "have one name" : "have the same start, end and policy", before->name, edge->name);
			break;
		}
	}
}

void xp_graph_check_shape(struct xp_graph *graph)
{
	check_count(graph, XP_GRAPH_EDGE_COUNT, "edges", graph->spec->n_edges, XP_MAX_EDGES);
	check_count(graph, XP_GRAPH_ENDPOINT_COUNT, "endpoints", graph->spec->n_endpoints, XP_MAX_ENDPOINTS);
	check_bounds(graph);
	check_doubles(graph);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* What the agent compares names with; patterns that do not reduce are tried by the tool on everything of that kind. */
static const char *literal_of(const struct xp_endpoint *endpoint)
{
	return endpoint->cuda.on_function || endpoint->cuda.match == XP_MATCH_REGEX ? NULL : endpoint->cuda.literal;
}

static bool same_filter(const struct xp_endpoint *a, const struct xp_endpoint *b)
{
	const char *literal = literal_of(a);

	return a->type == b->type && a->cuda.domain == b->cuda.domain && same_text(a->cuda.api_name, b->cuda.api_name) &&
	       a->cuda.memcpy_kind == b->cuda.memcpy_kind && same_text(literal, literal_of(b)) &&
	       (!literal || a->cuda.match == b->cuda.match);
}

unsigned xp_graph_cuda_filters(const struct xp_plan *plan)
{
	unsigned n = 0;

	for (unsigned i = 0; i < plan->n_endpoints; i++) {
		bool known = plan->endpoints[i].family->host;

		for (unsigned k = 0; k < i && !known; k++)
			known = !plan->endpoints[k].family->host && same_filter(&plan->endpoints[i], &plan->endpoints[k]);
		n += !known;
	}
	return n;
}

/* The agent must have been there before the first NVTX call, while the other CUDA endpoints would bring it in now. */
static bool is_mixed(const struct xp_plan *plan)
{
	bool nvtx = false, other = false, absent = false;

	for (unsigned i = 0; i < plan->n_endpoints; i++) {
		const struct xp_family *family = plan->endpoints[i].family;

		nvtx = nvtx || (family->needs & XP_NEED_NVTX);
		other = other || (!family->host && !(family->needs & XP_NEED_NVTX));
	}
	for (size_t i = 0; i < plan->n_issues; i++)
		absent = absent || plan->issues[i].err->code == XP_E_CUPTI_AGENT_NOT_LOADED;
	return nvtx && other && absent;
}

void xp_graph_check_whole(struct xp_graph *graph)
{
	const struct xp_plan *plan = graph->plan;
	xp_auto_err err = { 0 };

	graph->cuda_filters = xp_graph_cuda_filters(plan);
	for (unsigned i = 0; i < plan->n_endpoints; i++)
		graph->linux_slots += plan->endpoints[i].family->host;
	if (xp_spec_bound("CUDA filters", graph->cuda_filters, 0, XP_MAX_CUDA_FILTERS, &err))
		xp_graph_add_issue(graph, XP_SCOPE_GRAPH, NULL, XP_GRAPH_CUDA_FILTERS, &err);
	if (!is_mixed(plan))
		return;
	xp_fail(&err, XP_E_CUPTI_AGENT_NOT_LOADED,
		"NVTX endpoints need the agent from the start of the process; the other CUDA ones do not");
	xp_err_hint(&err, "measure them in two graphs, or start the process with NVTX_INJECTION64_PATH and CUDA_INJECTION64_PATH set");
	xp_graph_add_issue(graph, XP_SCOPE_GRAPH, NULL, XP_GRAPH_MIXED_ACTIVATION, &err);
}
