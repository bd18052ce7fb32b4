/* SPDX-License-Identifier: Apache-2.0 */
/* From a graph spec and a target to a plan and every fault of the graph. Does not stop at the first. No state. */
#include "plan/graph.h"

#include <string.h>

static void err_done(void *err)
{
	xp_err_done(err);
}

void xp_graph_add_issue(struct xp_graph *graph, enum xp_graph_scope scope, const char *name, enum xp_graph_rule rule, struct xp_err *err)
{
	struct xp_err *kept = xp_arena_new_of(graph->plan->arena, struct xp_err);

	if (graph->n_issues == graph->cap_issues) {
		size_t cap = graph->cap_issues ? 2 * graph->cap_issues : 16;
		struct xp_graph_issue *bigger = xp_arena_array(graph->plan->arena, struct xp_graph_issue, cap);

		if (graph->n_issues)
			memcpy(bigger, graph->issues, graph->n_issues * sizeof(*bigger));
		graph->issues = bigger;
		graph->cap_issues = cap;
	}
	xp_err_move(kept, err);
	xp_arena_defer(graph->plan->arena, err_done, kept);
	graph->issues[graph->n_issues++] = (struct xp_graph_issue){
		.scope = scope,
		.name = name,
		.rule = rule,
		.code = xp_err_name(kept->code),
		.message = kept->message,
		.err = kept,
	};
}

/* Another reference to an error that the plan owns. */
static void add_known(struct xp_graph *graph, enum xp_graph_scope scope, const char *name, enum xp_graph_rule rule,
		      const struct xp_err *known)
{
	struct xp_err copy = *known;

	json_incref(copy.details);
	json_incref(copy.hints);
	xp_graph_add_issue(graph, scope, name, rule, &copy);
}

/* Faults of the target rather than of one endpoint: they end the validation of a graph too. */
static bool ends_graph(enum xp_err_code code)
{
	return code == XP_E_TARGET_EXITED || code == XP_E_TARGET_REUSED || code == XP_E_TARGET_NOT_FOUND || code == XP_E_INTERNAL ||
	       code == XP_E_PERMISSION_DENIED;
}

static bool is_function(const struct xp_endpoint *endpoint)
{
	return endpoint->type == XP_EV_HOST_FUNCTION_ENTRY || endpoint->type == XP_EV_HOST_FUNCTION_EXIT;
}

/* The first endpoint of that selector, which was resolved for all of them; NULL: `at` is the first. */
static const struct xp_graph_endpoint *twin_of(const struct xp_graph *graph, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (!strcmp(graph->spec->endpoints[i].text, graph->spec->endpoints[at].text))
			return &graph->endpoints[i];
	return NULL;
}

/* The issues of an endpoint's selector hold under every name that it has. */
static void share_issues(struct xp_graph *graph, struct xp_graph_endpoint *endpoint, const struct xp_graph_endpoint *twin)
{
	size_t n = graph->n_issues;

	endpoint->index = twin->index;
	endpoint->label = twin->label;
	endpoint->resolved = twin->resolved;
	endpoint->faulty = twin->faulty;
	for (size_t i = 0; i < n; i++) {
		const struct xp_graph_issue *issue = &graph->issues[i];

		if (issue->scope == XP_SCOPE_ENDPOINT && issue->name == twin->label && issue->rule != XP_GRAPH_UNUSED)
			add_known(graph, XP_SCOPE_ENDPOINT, endpoint->name, (enum xp_graph_rule)issue->rule, issue->err);
	}
}

static int resolve(struct xp_graph *graph, struct xp_graph_endpoint *endpoint, const struct xp_plan_options *options, struct xp_err *reterr)
{
	struct xp_plan *plan = graph->plan;
	size_t first = plan->n_issues;
	xp_auto_err err = { 0 };

	if (xp_plan_resolve(plan, (unsigned)endpoint->index, endpoint->label, options, &err)) {
		if (ends_graph(err.code))
			return xp_err_move(reterr, &err);
		endpoint->faulty = true;
		xp_graph_add_issue(graph, XP_SCOPE_ENDPOINT, endpoint->name, XP_GRAPH_RESOLUTION, &err);
		return 0;
	}
	/* A function whose probe was refused has no place in the file. */
	endpoint->resolved = !plan->target || !is_function(&plan->endpoints[endpoint->index]) || plan->endpoints[endpoint->index].resolved;
	for (size_t i = first; i < plan->n_issues; i++) {
		endpoint->faulty = true;
		add_known(graph, XP_SCOPE_ENDPOINT, endpoint->name, XP_GRAPH_CAPABILITY, plan->issues[i].err);
	}
	return 0;
}

/* Endpoints that the plan has no room for stay unresolved: their number is an issue already. */
static int add_endpoint(struct xp_graph *graph, size_t at, const struct xp_plan_options *options, struct xp_err *reterr)
{
	const struct xp_graph_endpoint *twin = twin_of(graph, at);
	struct xp_graph_endpoint *endpoint = &graph->endpoints[at];
	xp_auto_err err = { 0 };
	unsigned index;

	*endpoint = (struct xp_graph_endpoint){ .name = graph->spec->endpoints[at].name, .index = -1 };
	endpoint->label = endpoint->name;
	if (twin) {
		share_issues(graph, endpoint, twin);
		return 0;
	}
	if (xp_plan_endpoint(graph->plan, graph->spec->endpoints[at].text, endpoint->name, &index, &err)) {
		endpoint->faulty = true;
		if (err.code != XP_E_SESSION_LIMIT_EXCEEDED)
			xp_graph_add_issue(graph, XP_SCOPE_ENDPOINT, endpoint->name, XP_GRAPH_SELECTOR, &err);
		return 0;
	}
	endpoint->index = (int)index;
	return resolve(graph, endpoint, options, reterr);
}

static void note_users(struct xp_graph *graph, struct xp_graph_endpoint *endpoint)
{
	const struct xp_graph_spec *spec = graph->spec;
	xp_auto_err err = { 0 };
	bool used = false;

	endpoint->used_by = xp_arena_array(graph->plan->arena, const char *, graph->n_edges);
	for (size_t i = 0; i < spec->n_edges; i++) {
		if (strcmp(spec->edges[i].start, endpoint->name) != 0 && strcmp(spec->edges[i].end, endpoint->name) != 0)
			continue;
		used = true;
		if (i < graph->n_edges)
			endpoint->used_by[endpoint->n_used_by++] = spec->edges[i].name;
	}
	if (used)
		return;
	endpoint->faulty = true;
	xp_fail(&err, XP_E_INVALID_EVENT_SELECTOR, "no edge names the endpoint %s", endpoint->name);
	xp_err_object(&err, "%s", endpoint->name);
	xp_graph_add_issue(graph, XP_SCOPE_ENDPOINT, endpoint->name, XP_GRAPH_UNUSED, &err);
}

static bool is_named(const struct xp_graph_spec *spec, const char *name)
{
	for (size_t i = 0; i < spec->n_endpoints; i++)
		if (!strcmp(spec->endpoints[i].name, name))
			return true;
	return false;
}

static const struct xp_graph_endpoint *find(struct xp_graph *graph, struct xp_graph_edge *edge, const char *name)
{
	xp_auto_err err = { 0 };

	for (size_t i = 0; i < graph->n_endpoints; i++)
		if (!strcmp(graph->endpoints[i].name, name))
			return &graph->endpoints[i];
	if (is_named(graph->spec, name))
		return NULL;
	edge->faulty = true;
	xp_fail(&err, XP_E_INVALID_EVENT_SELECTOR, "edge %s names the endpoint %.64s, which is not there", edge->spec->name, name);
	xp_err_object(&err, "%.64s", name);
	xp_graph_add_issue(graph, XP_SCOPE_EDGE, edge->spec->name, XP_GRAPH_UNKNOWN_ENDPOINT, &err);
	return NULL;
}

static enum xp_graph_rule rule_of(enum xp_err_code code)
{
	return code == XP_E_INVALID_CORRELATION_POLICY ? XP_GRAPH_POLICY
	       : code == XP_E_CLOCK_ALIGNMENT_FAILED   ? XP_GRAPH_CLOCK
						       : XP_GRAPH_CAPABILITY;
}

/* Edges that the plan has no room for are judged all the same. */
static void add_edge(struct xp_graph *graph, struct xp_graph_edge *edge)
{
	struct xp_plan *plan = graph->plan;
	size_t first = plan->n_issues;

	edge->start = find(graph, edge, edge->spec->start);
	edge->end = !strcmp(edge->spec->start, edge->spec->end) ? edge->start : find(graph, edge, edge->spec->end);
	if (!edge->start || !edge->end || !edge->start->resolved || !edge->end->resolved) {
		edge->faulty = true;
		return;
	}
	unsigned start = (unsigned)edge->start->index, end = (unsigned)edge->end->index;
	enum xp_policy_id policy = (enum xp_policy_id)edge->spec->match_policy;

	if (plan->n_edges < XP_MAX_EDGES)
		xp_plan_edge(plan, edge->spec->name, start, end, policy);
	else
		xp_plan_judge(plan, start, end, policy);
	edge->faulty = edge->faulty || edge->start->faulty || edge->end->faulty || plan->n_issues > first;
	for (size_t i = first; i < plan->n_issues; i++)
		add_known(graph, XP_SCOPE_EDGE, edge->spec->name, rule_of(plan->issues[i].err->code), plan->issues[i].err);
}

/* The plan has one issue a missing right; the graph one for each endpoint that needs it. */
static int try_rights(struct xp_graph *graph, struct xp_err *reterr)
{
	struct xp_plan *plan = graph->plan;
	size_t first = plan->n_issues;
	int rc = xp_plan_rights(plan, reterr);

	for (size_t i = first; !rc && i < plan->n_issues; i++) {
		for (size_t k = 0; k < graph->n_endpoints; k++) {
			struct xp_graph_endpoint *endpoint = &graph->endpoints[k];

			if (endpoint->index < 0 ||
			    !xp_rights_want(plan->endpoints[endpoint->index].family->needs, &plan->features[i - first]))
				continue;
			endpoint->faulty = true;
			add_known(graph, XP_SCOPE_ENDPOINT, endpoint->name, XP_GRAPH_CAPABILITY, plan->issues[i].err);
		}
	}
	return rc;
}

static bool wants_agent(const struct xp_graph *graph, const struct xp_graph_endpoint *endpoint)
{
	return endpoint->index >= 0 && endpoint->resolved && !graph->plan->endpoints[endpoint->index].family->host;
}

bool xp_graph_wants_agent(const struct xp_graph *graph)
{
	for (size_t i = 0; i < graph->n_endpoints; i++)
		if (wants_agent(graph, &graph->endpoints[i]))
			return true;
	return false;
}

void xp_graph_blame_agent(struct xp_graph *graph, size_t first)
{
	const struct xp_plan *plan = graph->plan;

	for (size_t i = 0; i < graph->n_endpoints; i++) {
		struct xp_graph_endpoint *endpoint = &graph->endpoints[i];

		if (!wants_agent(graph, endpoint))
			continue;
		endpoint->faulty = endpoint->faulty || first < plan->n_issues;
		for (size_t k = first; k < plan->n_issues; k++)
			add_known(graph, XP_SCOPE_ENDPOINT, endpoint->name, XP_GRAPH_CAPABILITY, plan->issues[k].err);
	}
	for (size_t i = 0; i < graph->n_edges; i++) {
		struct xp_graph_edge *edge = &graph->edges[i];

		edge->faulty = edge->faulty || (edge->start && edge->start->faulty) || (edge->end && edge->end->faulty);
	}
}

static size_t looked_at(size_t n)
{
	return n < XP_GRAPH_LOOKED_AT ? n : XP_GRAPH_LOOKED_AT;
}

int xp_graph_plan(struct xp_plan *plan, const struct xp_graph_spec *spec, const struct xp_plan_options *options, struct xp_graph *ret_graph,
		  struct xp_err *reterr)
{
	struct xp_graph graph = {
		.plan = plan,
		.spec = spec,
		.n_endpoints = looked_at(spec->n_endpoints),
		.n_edges = looked_at(spec->n_edges),
	};
	int rc = 0;

	graph.endpoints = xp_arena_array(plan->arena, struct xp_graph_endpoint, graph.n_endpoints);
	graph.edges = xp_arena_array(plan->arena, struct xp_graph_edge, graph.n_edges);
	for (size_t i = 0; i < graph.n_edges; i++)
		graph.edges[i].spec = &spec->edges[i];
	xp_graph_check_shape(&graph);
	for (size_t i = 0; !rc && i < graph.n_endpoints; i++)
		rc = add_endpoint(&graph, i, options, reterr);
	if (!rc && options->try_rights)
		rc = try_rights(&graph, reterr);
	if (rc)
		return rc;
	for (size_t i = 0; i < graph.n_endpoints; i++)
		note_users(&graph, &graph.endpoints[i]);
	for (size_t i = 0; i < graph.n_edges; i++)
		add_edge(&graph, &graph.edges[i]);
	xp_graph_check_whole(&graph);
	*ret_graph = graph;
	return 0;
}

int xp_graph_first_issue(const struct xp_graph *graph, struct xp_err *reterr)
{
	if (!graph->n_issues)
		return 0;
	const struct xp_graph_issue *issue = &graph->issues[0];
	struct xp_err copy = *issue->err;

	copy.details = json_copy(copy.details);
	json_incref(copy.hints);
	xp_err_move(reterr, &copy);
	if (issue->scope == XP_SCOPE_EDGE)
		xp_err_detail(reterr, "edge", xp_json_text(issue->name));
	return -(int)issue->err->code;
}
