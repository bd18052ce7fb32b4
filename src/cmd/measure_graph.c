/* SPDX-License-Identifier: Apache-2.0 */
/* From one capture to the document of a graph: every edge by itself, then one outcome. In: the conclusion. Out: session->value. No state.
 */
#include "cmd/emit.h"
#include "cmd/measure_finish.h"
#include "output/output.h"
#include "output/report_graph.h"
#include "result/graph.h"

/* What became of the edges; `pairs` of one that could not be correlated is NULL. */
struct outcome {
	struct xp_pairs *pairs[XP_MAX_EDGES];
	struct xp_err failure; /* the one that the command ends with */
	enum xp_status status; /* of the capture when no edge failed */
};

/* Contract 1.5: lower outranks higher; equal ones stand in the order of the edges. */
static int weight_of(enum xp_err_code code)
{
	switch ((int)code) {
	case XP_E_TARGET_EXITED:
	case XP_E_TARGET_REUSED:
		return 0;
	case XP_E_EVENTS_DROPPED:
		return 1;
	case XP_E_EVENT_RATE_TOO_HIGH:
		return 2;
	default:
		return 3;
	}
}

/* Takes *err. */
static void note_failure(struct outcome *outcome, struct xp_err *err)
{
	if (!outcome->failure.code || weight_of(err->code) < weight_of(outcome->failure.code))
		xp_err_move(&outcome->failure, err);
}

/* A failure of the capture is not one of the edge that was judged first. */
static void forget_edge(struct xp_err *err)
{
	static const char *const keys[] = { "edge", "start_selector", "end_selector", "match_policy" };

	if (weight_of(err->code) <= 1)
		for (size_t i = 0; i < XP_LEN(keys); i++)
			json_object_del(err->details, keys[i]);
}

static void tell_edge(const struct xp_conclusion *c, const struct xp_edge *edge, struct xp_err *err)
{
	xp_err_detail(err, "start_selector", xp_json_selector(xp_conclude_endpoint(c, edge->start)->selector));
	xp_err_detail(err, "end_selector", xp_json_selector(xp_conclude_endpoint(c, edge->end)->selector));
	xp_err_detail(err, "match_policy", json_string(xp_policy_names[edge->policy]));
	xp_err_detail(err, "edge", xp_json_text(edge->name));
}

/* completed only when every edge is. */
static void judge_edge(const struct xp_conclusion *c, const struct xp_edge *edge, struct xp_pairs **pairs, struct outcome *outcome)
{
	enum xp_status status = XP_COMPLETED;
	xp_auto_err err = { 0 };

	if (xp_conclude_pairs(c, edge, pairs, &err)) {
		tell_edge(c, edge, &err);
		*pairs = NULL;
	} else if (xp_conclude_outcome(c, edge, *pairs, &status, &err)) {
		forget_edge(&err);
	}
	if (err.code)
		note_failure(outcome, &err);
	else if (outcome->status == XP_COMPLETED)
		outcome->status = status;
}

static int make_value(const struct xp_conclusion *c, const struct outcome *outcome, struct xp_graph_result **ret_value,
		      struct xp_err *reterr)
{
	const struct xp_plan *plan = c->captured->plan;
	const struct xp_graph_edge_spec *specs = c->request->graph->edges;
	struct xp_capture_facts facts = xp_conclude_facts(c);
	struct xp_graph_edge_request edges[XP_MAX_EDGES];
	struct xp_graph_request request = {
		.session_id = c->session->session_id,
		.name = c->request->name,
		.target = c->captured->target,
		.edges = edges,
		.n_edges = plan->n_edges,
		.samples = c->request->bounds.samples,
		.collection = xp_conclude_collection(c),
		.artifact = c->artifact,
		.warnings = &c->session->warnings,
		.evidence = (enum xp_evidence_mode)c->request->evidence_mode,
	};

	/* A graph without issues has all its edges in the plan, in spec order. */
	for (unsigned i = 0; i < plan->n_edges; i++)
		edges[i] = (struct xp_graph_edge_request){
			.name = specs[i].name,
			.start = specs[i].start,
			.end = specs[i].end,
			.edge = xp_conclude_edge(c, &plan->edges[i], outcome->pairs[i], &facts),
		};
	return xp_graph_make(&request, c->session->arena, ret_value, reterr);
}

/* The page of --format html. */
static int write_page(const struct xp_conclusion *c, struct xp_graph_result *value, struct xp_err *reterr)
{
	const struct xp_output_input input = { .session_id = c->session->session_id, .record = &xp_graph_result_record, .value = value };
	struct xp_artifact *artifact = xp_arena_new_of(c->session->arena, struct xp_artifact);
	struct xp_artifact_file *file;

	value->invocation = c->session->program;
	if (!c->request->page_out)
		return 0;
	int rc = xp_artifact_open(c->request->page_out, &file, reterr);
	if (!rc)
		rc = xp_output_file(xp_output_find("html"), &input, file, c->session->arena, artifact, reterr);
	if (!rc)
		value->report = artifact;
	return rc;
}

/* The good edges are told although the command failed; a failure to say them never replaces the failure itself. */
static int fail_with_partial(struct xp_conclusion *c, const struct outcome *outcome, struct xp_err *failure, struct xp_err *reterr)
{
	struct xp_graph_result *value;
	xp_auto_err ignored = { 0 };

	xp_conclude_tell_artifact(c, failure);
	c->status = XP_FAILED;
	if (!make_value(c, outcome, &value, &ignored)) {
		write_page(c, value, &ignored);
		xp_err_partial(failure, &xp_graph_result_record, value, XP_RESULT_BUDGET, xp_graph_shrink);
	}
	return xp_err_move(reterr, failure);
}

static int conclude(struct xp_conclusion *c, struct outcome *outcome, struct xp_err *failure, struct xp_err *reterr)
{
	const struct xp_plan *plan = c->captured->plan;
	struct xp_session *session = c->session;
	struct xp_graph_result *value;

	for (unsigned i = 0; i < plan->n_edges; i++)
		judge_edge(c, &plan->edges[i], &outcome->pairs[i], outcome);
	c->status = outcome->status;
	xp_conclude_weigh(failure, &outcome->failure);
	xp_conclude_files(c, failure);
	if (failure->code)
		return fail_with_partial(c, outcome, failure, reterr);
	int rc = make_value(c, outcome, &value, reterr);
	if (!rc)
		rc = write_page(c, value, reterr);
	if (rc)
		return rc;
	session->value = value;
	session->record = &xp_graph_result_record;
	session->human = xp_report_graph;
	session->shrink = xp_graph_shrink;
	return 0;
}

int xp_measure_graph_finish(struct xp_conclusion *conclusion, struct xp_err *failure, struct xp_err *reterr)
{
	struct outcome outcome = { .status = XP_COMPLETED };
	int rc = conclude(conclusion, &outcome, failure, reterr);

	xp_err_done(&outcome.failure);
	return rc;
}
