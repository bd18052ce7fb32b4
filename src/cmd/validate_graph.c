/* SPDX-License-Identifier: Apache-2.0 */
/* `validate --spec` of a graph: the value and its text for people. In: a spec document. Touches nothing in the target. No state. */
#include "cmd/measure_cuda.h"
#include "cmd/validate.h"
#include "plan/graph_validation.h"

static void endpoint_line(struct xp_text *out, const struct xp_checked_endpoint *endpoint)
{
	xp_text_fmt(out, "  %-20s %s", endpoint->name, endpoint->endpoint ? endpoint->endpoint->selector : "not resolved");
	if (!endpoint->n_used_by)
		xp_text_str(out, " (unused)");
	xp_text_char(out, '\n');
}

static void edge_line(struct xp_text *out, const struct xp_checked_edge *edge)
{
	const struct xp_advice *advice = edge->policy_recommendation;

	xp_text_fmt(out, "  %-20s %s, %s", edge->name, edge->valid ? "ok" : "NOT OK", xp_policy_names[edge->match_policy]);
	if (advice && advice->policy != edge->match_policy)
		xp_text_fmt(out, "; %s fits better (%s)", xp_policy_names[advice->policy], advice->reason);
	xp_text_char(out, '\n');
}

static void report(const void *value, struct xp_text *out, bool color)
{
	const struct xp_graph_validation *v = value;
	const char *on = color ? (v->valid ? "\033[32m" : "\033[31m") : "", *off = color ? "\033[0m" : "";

	xp_text_fmt(out, "%s%s%s: process %u, edges %u of %u, endpoints %u of %u\n", on,
		    v->valid ? "can be measured" : "cannot be measured now", off, v->target.pid, v->limits.edges.used,
		    v->limits.edges.maximum, v->limits.endpoints.used, v->limits.endpoints.maximum);
	for (size_t i = 0; i < v->n_issues; i++)
		xp_text_fmt(out, "  issue %s%s%s: %s (%s): %s\n", xp_graph_scope_names[v->issues[i].scope], v->issues[i].name ? " " : "",
			    v->issues[i].name ? v->issues[i].name : "", xp_graph_rule_names[v->issues[i].rule], v->issues[i].code,
			    v->issues[i].message);
	for (size_t i = 0; i < v->n_features; i++)
		if (v->features[i].unblock)
			xp_text_fmt(out, "  unblock %s: %s\n", v->features[i].feature, v->features[i].unblock);
	xp_text_str(out, "endpoints\n");
	for (size_t i = 0; i < v->n_endpoints; i++)
		endpoint_line(out, &v->endpoints[i]);
	xp_text_str(out, "edges\n");
	for (size_t i = 0; i < v->n_edges; i++)
		edge_line(out, &v->edges[i]);
	for (size_t i = 0; i < v->n_warnings; i++)
		xp_text_fmt(out, "  warning %s: %s\n", v->warnings[i].code, v->warnings[i].message);
}

int xp_validate_graph_spec(struct xp_session *session, const json_t *document, struct xp_err *reterr)
{
	struct xp_graph_spec *spec = xp_arena_new_of(session->arena, struct xp_graph_spec);
	struct xp_plan *plan = xp_arena_new_of(session->arena, struct xp_plan);
	struct xp_graph_validation *value = xp_arena_new_of(session->arena, struct xp_graph_validation);
	xp_auto(xp_target_close) struct xp_target *target = NULL;
	struct xp_plan_options options = { .try_rights = true };
	struct xp_graph graph;
	int rc = xp_graph_spec_read(document, session->arena, spec, reterr);

	if (!rc)
		rc = xp_target_open(spec->target.pid, &spec->target, &target, reterr);
	if (rc)
		return rc;
	options.allow_cxx_return = xp_flag_on(session, "--allow-cxx-return") || (spec->allow_cxx_return.set && spec->allow_cxx_return.v);
	xp_plan_init(plan, target, session->arena);
	rc = xp_graph_plan(plan, spec, &options, &graph, reterr);
	if (!rc)
		rc = xp_target_check(target, reterr);
	if (rc)
		return rc;
	if (xp_graph_wants_agent(&graph)) {
		size_t first = plan->n_issues;

		xp_cuda_check_target(session, plan);
		xp_graph_blame_agent(&graph, first);
	}
	*value = xp_graph_validation_make(&graph);
	session->value = value;
	session->record = &xp_graph_validation_record;
	session->human = report;
	return 0;
}
