/* SPDX-License-Identifier: Apache-2.0 */
/* From a capture to the one document. In: store, window, accounts. Out: session->value, or an error with artifact and partial. */
#include "cmd/measure_finish.h"

#include <string.h>

#include "cmd/emit.h"
#include "output/output.h"
#include "output/report_measurement.h"
#include "result/outcome.h"

enum { RESULT_BUDGET = 16384, PARTIAL_BUDGET = 12288 };

/* State of one conclusion; everything it points to outlives the command's document. */
struct finish {
	struct xp_session *session;
	const struct xp_measure_request *request;
	const struct xp_captured *captured;
	struct xp_pairs *pairs;
	struct xp_artifact *artifact; /* NULL: none was written */
	enum xp_status status;
};

static const struct xp_edge *only_edge(const struct finish *f)
{
	return &f->captured->plan->edges[0];
}

static const struct xp_endpoint *endpoint_at(const struct finish *f, unsigned index)
{
	return &f->captured->plan->endpoints[index];
}

static void pairs_done(void *pairs)
{
	xp_pairs_done(pairs);
}

static int correlate(struct finish *f, struct xp_err *reterr)
{
	const struct xp_edge *edge = only_edge(f);
	struct xp_correlate_request request = {
		.start = endpoint_at(f, edge->start),
		.end = endpoint_at(f, edge->end),
		.start_bit = 1u << edge->start,
		.end_bit = 1u << edge->end,
		.policy = edge->policy,
		.samples = f->request->bounds.samples.set ? f->request->bounds.samples.v : 0,
		.last_ns = f->captured->last_ns,
	};

	f->pairs = xp_arena_new_of(f->session->arena, struct xp_pairs);
	int rc = xp_correlate(f->captured->store, &request, f->pairs, reterr);
	if (!rc)
		xp_arena_defer(f->session->arena, pairs_done, f->pairs);
	return rc;
}

/* Live captures with at least one event always leave a file; completed ones only where --events-out says so (contract 12, 6.4). */
static int write_artifact(struct finish *f, struct xp_err *reterr)
{
	const struct xp_output *output;
	struct xp_output_input input = { .store = f->captured->store, .session_id = f->session->session_id };
	struct xp_artifact_file *file;
	const char *path = f->request->events_out;
	int rc;

	if (!xp_store_count(f->captured->store) || (!path && !f->captured->folder))
		return 0;
	rc = xp_output_choose(f->request->format, "jsonl", XP_TAKES_EVENTS, &output, reterr);
	if (!rc)
		rc = path ? xp_artifact_open(path, &file, reterr)
			  : xp_artifact_open_in(f->captured->folder, NULL, "events.jsonl", &file, reterr);
	if (rc)
		return rc;
	struct xp_artifact *artifact = xp_arena_new_of(f->session->arena, struct xp_artifact);
	rc = xp_output_file(output, &input, file, f->session->arena, artifact, reterr);
	if (!rc)
		f->artifact = artifact;
	return rc;
}

static int judge(struct finish *f, struct xp_err *reterr)
{
	const struct xp_captured *captured = f->captured;
	const struct xp_edge *edge = only_edge(f);
	struct xp_outcome_request request = {
		.window = captured->window,
		.sources = captured->sources,
		.n_sources = captured->n_sources,
		.pairs = f->pairs,
		.start = endpoint_at(f, edge->start),
		.end = endpoint_at(f, edge->end),
		.policy = edge->policy,
		.samples = f->request->bounds.samples,
		.capacity_reached = captured->capacity_reached,
		.events = xp_store_count(captured->store),
		.max_events = f->request->bounds.max_events,
		.observed_events = captured->observed_events,
		.host_events = captured->host_events,
		.cuda_events = captured->cuda_events,
		.max_unmatched = f->request->bounds.max_unmatched,
		.identity = captured->identity,
	};

	if (!request.host_events && !request.cuda_events)
		xp_count_events(captured->store, &request.host_events, &request.cuda_events);
	return xp_outcome_of(&request, &f->status, reterr);
}

static int make_value(struct finish *f, struct xp_capture_facts *facts, struct xp_measurement **ret_value, struct xp_err *reterr)
{
	const struct xp_captured *captured = f->captured;
	const struct xp_edge *edge = only_edge(f);
	struct xp_measurement_request request = {
		.session_id = f->session->session_id,
		.name = f->request->name,
		.target = captured->target,
		.edge = { .store = captured->store,
			  .pairs = f->pairs,
			  .start = endpoint_at(f, edge->start),
			  .end = endpoint_at(f, edge->end),
			  .policy = edge->policy,
			  .facts = facts },
		.collection = { .host_events = captured->host_events,
				.cuda_events = captured->cuda_events,
				.cupti = captured->cupti,
				.sources = captured->sources,
				.n_sources = captured->n_sources,
				.cuda = captured->cuda },
		.artifact = f->artifact,
		.warnings = &f->session->warnings,
		.evidence = (enum xp_evidence_mode)f->request->evidence_mode,
	};

	if (captured->window)
		request.collection.window_ns = captured->window->end_ns - captured->window->start_ns;
	*facts = (struct xp_capture_facts){
		.status = f->status,
		.window = captured->window,
		.cost = captured->window ? &captured->window->cost : NULL,
		.cuda = captured->cuda,
		.dropped = xp_dropped_of(captured->sources, captured->n_sources),
		.source_loss_unknown = captured->source_loss_unknown,
	};
	return xp_measurement_make(&request, f->session->arena, ret_value, reterr);
}

static void tell_artifact(const struct finish *f, struct xp_err *err)
{
	if (!f->artifact)
		return;
	xp_err_detail(err, "artifact_path", xp_json_text(f->artifact->path));
	xp_err_detail(err, "artifact_format", json_string(f->artifact->format));
	if (f->artifact->event_count.set)
		xp_err_detail(err, "artifact_event_count", xp_json_count(f->artifact->event_count.v));
}

/* A failed command still says what was measured; a failure to say it never replaces the failure itself. */
static int fail_with_partial(struct finish *f, struct xp_err *failure, struct xp_err *reterr)
{
	struct xp_capture_facts facts;
	struct xp_measurement *value;
	xp_auto_err ignored = { 0 };

	tell_artifact(f, failure);
	f->status = XP_FAILED;
	if (f->pairs && !make_value(f, &facts, &value, &ignored))
		xp_err_partial(failure, &xp_measurement_record, value, PARTIAL_BUDGET, xp_measurement_shrink);
	return xp_err_move(reterr, failure);
}

/* Contract 1.5: what failed first stays the code, except that identity and clean-up outrank it; the hidden one is told. */
static void weigh(struct xp_err *first, struct xp_err *second)
{
	bool heavier = second->code == XP_E_TARGET_EXITED || second->code == XP_E_TARGET_REUSED;

	if (!first->code) {
		xp_err_move(first, second);
	} else if (second->code && heavier && first->code != second->code) {
		xp_err_detail(second, "original_error_code", json_string(xp_err_name(first->code)));
		xp_err_move(first, second);
	} else if (second->code && first->code != second->code) {
		xp_err_detail(first, "original_error_code", json_string(xp_err_name(second->code)));
	}
}

int xp_measure_finish(struct xp_session *session, const struct xp_measure_request *request, const struct xp_captured *captured,
		      struct xp_err *failure, struct xp_err *reterr)
{
	struct finish f = { .session = session, .request = request, .captured = captured };
	struct xp_capture_facts facts;
	struct xp_measurement *value;
	xp_auto_err err = { 0 };

	xp_store_sort(captured->store);
	if (correlate(&f, &err))
		f.pairs = NULL;
	weigh(failure, &err);
	if (f.pairs && judge(&f, &err))
		weigh(failure, &err);
	if (write_artifact(&f, &err)) {
		/* Contract 6.10: a file that cannot be written is the command's error; what failed first is told beside it. */
		if (failure->code)
			xp_err_detail(&err, "original_error_code", json_string(xp_err_name(failure->code)));
		xp_err_move(failure, &err);
	}
	if (failure->code)
		return fail_with_partial(&f, failure, reterr);
	int rc = make_value(&f, &facts, &value, reterr);
	if (rc)
		return rc;
	session->value = value;
	session->record = &xp_measurement_record;
	session->human = xp_report_measurement;
	session->shrink = xp_measurement_shrink;
	session->budget = request->evidence_mode == XP_EVIDENCE_FULL ? 0 : RESULT_BUDGET;
	return 0;
}
