/* SPDX-License-Identifier: Apache-2.0 */
/* From a capture to the one document. In: store, window, accounts. Out: session->value, or an error with artifact and partial. */
#include "cmd/measure_finish.h"

#include "cmd/emit.h"
#include "output/report_measurement.h"

static int make_value(const struct xp_conclusion *c, const struct xp_pairs *pairs, struct xp_measurement **ret_value, struct xp_err *reterr)
{
	struct xp_capture_facts facts = xp_conclude_facts(c);
	struct xp_measurement_request request = {
		.session_id = c->session->session_id,
		.name = c->request->name,
		.target = c->captured->target,
		.edge = xp_conclude_edge(c, &c->captured->plan->edges[0], pairs, &facts),
		.collection = xp_conclude_collection(c),
		.artifact = c->artifact,
		.warnings = &c->session->warnings,
		.evidence = (enum xp_evidence_mode)c->request->evidence_mode,
	};

	return xp_measurement_make(&request, c->session->arena, ret_value, reterr);
}

/* A failed command still says what was measured; a failure to say it never replaces the failure itself. */
static int fail_with_partial(struct xp_conclusion *c, const struct xp_pairs *pairs, struct xp_err *failure, struct xp_err *reterr)
{
	struct xp_measurement *value;
	xp_auto_err ignored = { 0 };

	xp_conclude_tell_artifact(c, failure);
	c->status = XP_FAILED;
	if (pairs && !make_value(c, pairs, &value, &ignored))
		xp_err_partial(failure, &xp_measurement_record, value, XP_PARTIAL_BUDGET, xp_measurement_shrink);
	return xp_err_move(reterr, failure);
}

static int finish_pair(struct xp_conclusion *c, struct xp_err *failure, struct xp_err *reterr)
{
	const struct xp_edge *edge = &c->captured->plan->edges[0];
	struct xp_session *session = c->session;
	struct xp_measurement *value;
	struct xp_pairs *pairs;
	xp_auto_err err = { 0 };

	if (xp_conclude_pairs(c, edge, &pairs, &err))
		pairs = NULL;
	xp_conclude_weigh(failure, &err);
	if (pairs && xp_conclude_outcome(c, edge, pairs, &c->status, &err))
		xp_conclude_weigh(failure, &err);
	xp_conclude_files(c, failure);
	if (failure->code)
		return fail_with_partial(c, pairs, failure, reterr);
	int rc = make_value(c, pairs, &value, reterr);
	if (rc)
		return rc;
	session->value = value;
	session->record = &xp_measurement_record;
	session->human = xp_report_measurement;
	session->shrink = xp_measurement_shrink;
	return 0;
}

int xp_measure_finish(struct xp_session *session, const struct xp_measure_request *request, const struct xp_captured *captured,
		      struct xp_err *failure, struct xp_err *reterr)
{
	struct xp_conclusion conclusion = { .session = session, .request = request, .captured = captured };

	xp_store_sort(captured->store);
	session->budget = request->evidence_mode == XP_EVIDENCE_FULL ? 0 : XP_RESULT_BUDGET;
	if (captured->plan->edges[0].name)
		return xp_measure_graph_finish(&conclusion, failure, reterr);
	return finish_pair(&conclusion, failure, reterr);
}
