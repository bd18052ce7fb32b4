/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the value of a MeasurementResult. In: an edge, its capture and what goes with it. Out: a plain value. No state. */
#include "result/measurement.h"

uint64_t xp_dropped_of(const struct xp_account *sources, size_t n)
{
	uint64_t dropped = 0;

	for (size_t i = 0; i < n; i++)
		dropped += sources[i].dropped;
	return dropped;
}

void xp_count_events(struct xp_store *store, uint64_t *ret_host, uint64_t *ret_cuda)
{
	const struct xp_event *events = xp_store_events(store);
	uint64_t n = xp_store_count(store), host = 0;

	for (uint64_t i = 0; i < n; i++)
		host += xp_event_group_of(events[i].type) == XP_GROUP_HOST;
	*ret_host = host;
	*ret_cuda = n - host;
}

/* An Event inside a result: without session id, names cut. */
static void make_event(const struct xp_edge_request *edge, uint32_t event, struct xp_arena *arena, struct xp_event_doc *ret_doc)
{
	xp_event_doc_make(edge->store, &xp_store_events(edge->store)[event], NULL, arena, ret_doc);
	xp_event_doc_cut(ret_doc, XP_NAME_MAX_RESULT, arena);
}

static void make_exemplars(const struct xp_edge_request *edge, const struct xp_statistics *statistics, struct xp_arena *arena,
			   struct xp_measured_evidence *evidence)
{
	evidence->exemplars = xp_arena_array(arena, struct xp_exemplar, XP_RANK_COUNT);
	evidence->n_exemplars = XP_RANK_COUNT;
	for (unsigned rank = 0; rank < XP_RANK_COUNT; rank++) {
		const struct xp_pair *pair = &edge->pairs->at[statistics->exemplar[rank]];
		struct xp_exemplar *exemplar = &evidence->exemplars[rank];

		exemplar->rank = (int)rank;
		exemplar->latency_ns = xp_pair_latency(xp_store_events(edge->store), pair);
		make_event(edge, pair->start, arena, &exemplar->start);
		make_event(edge, pair->end, arena, &exemplar->end);
	}
}

const struct xp_pair_doc *xp_pair_docs_make(const struct xp_edge_request *edge, struct xp_arena *arena, size_t *ret_n)
{
	const struct xp_pairs *pairs = edge->pairs;
	struct xp_pair_doc *docs = xp_arena_array(arena, struct xp_pair_doc, pairs->n + 1);

	for (uint64_t i = 0; i < pairs->n; i++) {
		docs[i].latency_ns = xp_pair_latency(xp_store_events(edge->store), &pairs->at[i]);
		make_event(edge, pairs->at[i].start, arena, &docs[i].start);
		make_event(edge, pairs->at[i].end, arena, &docs[i].end);
	}
	*ret_n = pairs->n;
	return docs;
}

struct xp_collection xp_collection_complete(const struct xp_collection *known, struct xp_store *store)
{
	struct xp_collection collection = *known;

	if (!collection.host_events && !collection.cuda_events)
		xp_count_events(store, &collection.host_events, &collection.cuda_events);
	if (!collection.dropped_events)
		collection.dropped_events = xp_dropped_of(collection.sources, collection.n_sources);
	return collection;
}

int xp_measurement_make(const struct xp_measurement_request *request, struct xp_arena *arena, struct xp_measurement **ret_value,
			struct xp_err *reterr)
{
	const struct xp_edge_request *edge = &request->edge;
	struct xp_measurement *value = xp_arena_new_of(arena, struct xp_measurement);
	struct xp_warnings warnings = { .arena = arena };
	struct xp_edge_value made;
	int r = xp_edge_make(edge, arena, &made, reterr);

	if (r)
		return r;
	for (size_t i = 0; request->warnings && i < request->warnings->n; i++)
		xp_warn(&warnings, request->warnings->at[i].code, json_incref(request->warnings->at[i].details), "%s",
			request->warnings->at[i].message);
	xp_measurement_warn(&warnings, edge, &made);
	*value = (struct xp_measurement){
		.session_id = request->session_id,
		.status = (int)edge->facts->status,
		.target = request->target,
		.measurement = { request->name, edge->start->selector, edge->end->selector, (int)edge->policy, made.samples,
				 made.latency_ns },
		.correlation = made.correlation,
		.clock = made.clock,
		.collection = xp_collection_complete(&request->collection, edge->store),
		.quality = made.quality,
		.evidence = { .mode = (int)request->evidence, .artifact = request->artifact },
		.cost = edge->facts->cost,
		.warnings = warnings.at,
		.n_warnings = warnings.n,
		.statistics = made.statistics,
		.arena = arena,
		.name_max = XP_NAME_MAX_RESULT,
	};
	if (made.statistics)
		make_exemplars(edge, made.statistics, arena, &value->evidence);
	if (request->evidence == XP_EVIDENCE_FULL)
		value->evidence.pairs = xp_pair_docs_make(edge, arena, &value->evidence.n_pairs);
	else
		xp_measurement_slim(value);
	*ret_value = value;
	return 0;
}

void xp_measurement_warn(struct xp_warnings *warnings, const struct xp_edge_request *edge, const struct xp_edge_value *value)
{
	const struct xp_window *window = edge->facts->window;

	if (xp_policy_at(edge->policy)->confidence == XP_CONF_HEURISTIC && !xp_warnings_have(warnings, "HEURISTIC_CORRELATION"))
		xp_warn(warnings, "HEURISTIC_CORRELATION", NULL, "%s pairs by time alone: order in time is not cause",
			xp_policy_names[edge->policy]);
	if (value->clock.alignment == XP_ALIGN_NORMALIZED && !value->clock.estimated_error_ns.set &&
	    !xp_warnings_have(warnings, "CLOCK_ERROR_UNAVAILABLE"))
		xp_warn(warnings, "CLOCK_ERROR_UNAVAILABLE", NULL, "GPU times are aligned, but no error bound could be made");
	if (window && window->exec_seen && !xp_warnings_have(warnings, "TARGET_EXEC"))
		xp_warn(warnings, "TARGET_EXEC", NULL, "the target replaced itself by execve during the window");
	if (window && window->children && !xp_warnings_have(warnings, "TARGET_FORKED"))
		xp_warn(warnings, "TARGET_FORKED", json_pack("{s:o}", "children", xp_json_count(window->children)),
			"child processes made by the target: %u; they are not covered", window->children);
}
