/* SPDX-License-Identifier: Apache-2.0 */
/* Steps between a capture and its document that one pair and every edge of a graph share. In: store, window, accounts. No state. */
#include "cmd/measure_finish.h"
#include "output/output.h"
#include "result/outcome.h"

const struct xp_endpoint *xp_conclude_endpoint(const struct xp_conclusion *conclusion, unsigned index)
{
	return &conclusion->captured->plan->endpoints[index];
}

static void pairs_done(void *pairs)
{
	xp_pairs_done(pairs);
}

int xp_conclude_pairs(const struct xp_conclusion *conclusion, const struct xp_edge *edge, struct xp_pairs **ret_pairs,
		      struct xp_err *reterr)
{
	const struct xp_bounds *bounds = &conclusion->request->bounds;
	struct xp_pairs *pairs = xp_arena_new_of(conclusion->session->arena, struct xp_pairs);
	struct xp_correlate_request request = {
		.start = xp_conclude_endpoint(conclusion, edge->start),
		.end = xp_conclude_endpoint(conclusion, edge->end),
		.start_bit = 1u << edge->start,
		.end_bit = 1u << edge->end,
		.policy = edge->policy,
		.samples = bounds->samples.set ? bounds->samples.v : 0,
		.last_ns = conclusion->captured->last_ns,
	};
	int rc = xp_correlate(conclusion->captured->store, &request, pairs, reterr);

	if (rc)
		return rc;
	xp_arena_defer(conclusion->session->arena, pairs_done, pairs);
	*ret_pairs = pairs;
	return 0;
}

static int write_artifact(struct xp_conclusion *conclusion, struct xp_err *reterr)
{
	const struct xp_captured *captured = conclusion->captured;
	struct xp_session *session = conclusion->session;
	struct xp_output_input input = { .store = captured->store, .session_id = session->session_id };
	const char *path = conclusion->request->events_out;
	const struct xp_output *output;
	struct xp_artifact_file *file;
	int rc;

	if (!xp_store_count(captured->store) || (!path && !captured->folder))
		return 0;
	rc = xp_output_choose(conclusion->request->format, "jsonl", XP_TAKES_EVENTS, &output, reterr);
	if (!rc)
		rc = path ? xp_artifact_open(path, &file, reterr)
			  : xp_artifact_open_in(captured->folder, NULL, "events.jsonl", &file, reterr);
	if (rc)
		return rc;
	struct xp_artifact *artifact = xp_arena_new_of(session->arena, struct xp_artifact);
	rc = xp_output_file(output, &input, file, session->arena, artifact, reterr);
	if (!rc)
		conclusion->artifact = artifact;
	return rc;
}

/* Only these edges can blame a dead collection for their silence. */
static bool wants_activity(const struct xp_conclusion *conclusion, const struct xp_edge *edge)
{
	unsigned needs =
		xp_conclude_endpoint(conclusion, edge->start)->family->needs | xp_conclude_endpoint(conclusion, edge->end)->family->needs;

	return needs & XP_NEED_ACTIVITY;
}

int xp_conclude_outcome(const struct xp_conclusion *conclusion, const struct xp_edge *edge, const struct xp_pairs *pairs,
			enum xp_status *ret_status, struct xp_err *reterr)
{
	const struct xp_captured *captured = conclusion->captured;
	const struct xp_bounds *bounds = &conclusion->request->bounds;
	struct xp_outcome_request request = {
		.window = captured->window,
		.sources = captured->sources,
		.n_sources = captured->n_sources,
		.pairs = pairs,
		.start = xp_conclude_endpoint(conclusion, edge->start),
		.end = xp_conclude_endpoint(conclusion, edge->end),
		.policy = edge->policy,
		.samples = bounds->samples,
		.capacity_reached = captured->capacity_reached,
		.events = xp_store_count(captured->store),
		.max_events = bounds->max_events,
		.observed_events = captured->observed_events,
		.host_events = captured->host_events,
		.cuda_events = captured->cuda_events,
		.max_unmatched = bounds->max_unmatched,
		.identity = captured->identity,
		.edge = edge->name,
		.dead_collection = captured->agent && captured->agent->collection_dead && wants_activity(conclusion, edge),
	};

	if (!request.host_events && !request.cuda_events)
		xp_count_events(captured->store, &request.host_events, &request.cuda_events);
	return xp_outcome_of(&request, ret_status, reterr);
}

struct xp_capture_facts xp_conclude_facts(const struct xp_conclusion *conclusion)
{
	const struct xp_captured *captured = conclusion->captured;
	const struct xp_agent_facts *agent = captured->agent;

	return (struct xp_capture_facts){
		.clock_stepped = agent && agent->clock_stepped,
		.records_only = agent && agent->records_only,
		.kinds_left_on = agent && agent->kinds_left_on,
		.cupti_caveat = agent ? agent->cupti_caveat : NULL,
		.nvtx_partial = agent && agent->nvtx_partial,
		.correlation_unreliable = agent && agent->correlation_unreliable,
		.status = conclusion->status,
		.window = captured->window,
		.cost = captured->window ? &captured->window->cost : NULL,
		.cuda = captured->cuda,
		.dropped = xp_dropped_of(captured->sources, captured->n_sources),
		.source_loss_unknown = captured->source_loss_unknown,
	};
}

struct xp_edge_request xp_conclude_edge(const struct xp_conclusion *conclusion, const struct xp_edge *edge, const struct xp_pairs *pairs,
					const struct xp_capture_facts *facts)
{
	return (struct xp_edge_request){
		.store = conclusion->captured->store,
		.pairs = pairs,
		.start = xp_conclude_endpoint(conclusion, edge->start),
		.end = xp_conclude_endpoint(conclusion, edge->end),
		.policy = edge->policy,
		.facts = facts,
	};
}

struct xp_collection xp_conclude_collection(const struct xp_conclusion *conclusion)
{
	const struct xp_captured *captured = conclusion->captured;

	return (struct xp_collection){
		.host_events = captured->host_events,
		.cuda_events = captured->cuda_events,
		.cupti = captured->cupti,
		.window_ns = captured->window ? captured->window->end_ns - captured->window->start_ns : 0,
		.sources = captured->sources,
		.n_sources = captured->n_sources,
		.cuda = captured->cuda,
	};
}

void xp_conclude_tell_artifact(const struct xp_conclusion *conclusion, struct xp_err *err)
{
	const struct xp_artifact *artifact = conclusion->artifact;

	if (!artifact)
		return;
	xp_err_detail(err, "artifact_path", xp_json_text(artifact->path));
	xp_err_detail(err, "artifact_format", json_string(artifact->format));
	if (artifact->event_count.set)
		xp_err_detail(err, "artifact_event_count", xp_json_count(artifact->event_count.v));
}

void xp_conclude_weigh(struct xp_err *first, struct xp_err *second)
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

void xp_conclude_files(struct xp_conclusion *conclusion, struct xp_err *failure)
{
	xp_auto_err err = { 0 };

	if (!write_artifact(conclusion, &err))
		return;
	if (failure->code)
		xp_err_detail(&err, "original_error_code", json_string(xp_err_name(failure->code)));
	xp_err_move(failure, &err);
}
