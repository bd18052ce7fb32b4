/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the value of a MeasurementGraphResult. In: edges of one capture. Out: a plain value. No state. */
#include "result/graph.h"

#include <inttypes.h>
#include <string.h>

static const char *event_id(const struct xp_event *event, struct xp_arena *arena)
{
	return xp_arena_fmt(arena, "evt_%" PRIu64, event->sequence);
}

static void make_exemplars(const struct xp_edge_request *edge, const struct xp_statistics *statistics, struct xp_arena *arena,
			   struct xp_graph_edge_result *result)
{
	const struct xp_event *events = xp_store_events(edge->store);

	result->exemplars = xp_arena_array(arena, struct xp_compact_exemplar, XP_RANK_COUNT);
	result->n_exemplars = XP_RANK_COUNT;
	for (unsigned rank = 0; rank < XP_RANK_COUNT; rank++) {
		const struct xp_pair *pair = &edge->pairs->at[statistics->exemplar[rank]];

		result->exemplars[rank] = (struct xp_compact_exemplar){
			.rank = (int)rank,
			.latency_ns = xp_pair_latency(events, pair),
			.start_event_id = event_id(&events[pair->start], arena),
			.end_event_id = event_id(&events[pair->end], arena),
			.start_ns = events[pair->start].t_ns,
			.end_ns = events[pair->end].t_ns,
		};
	}
}

/* What stands for the pairs of an edge that could not be correlated: none, by the method that was asked for. */
static struct xp_pairs no_pairs(const struct xp_edge_request *edge)
{
	const struct xp_policy *policy = xp_policy_at(edge->policy);

	return (struct xp_pairs){ .method = policy->method(edge->start), .confidence = policy->confidence };
}

static int make_edge(const struct xp_graph_request *request, const struct xp_graph_edge_request *from, struct xp_arena *arena,
		     struct xp_graph_edge_result *ret_result, struct xp_err *reterr)
{
	struct xp_edge_request edge = from->edge;
	struct xp_pairs none = no_pairs(&edge);
	struct xp_edge_value made;

	if (!edge.pairs)
		edge.pairs = &none;
	int r = xp_edge_make(&edge, arena, &made, reterr);
	if (r)
		return r;
	*ret_result = (struct xp_graph_edge_result){
		.name = from->name,
		.start = from->start,
		.end = from->end,
		.match_policy = (int)edge.policy,
		.samples = made.samples,
		.latency_ns = made.latency_ns,
		.correlation = made.correlation,
		.clock = made.clock,
		.quality = made.quality,
		.start_selector = edge.start->selector,
		.end_selector = edge.end->selector,
	};
	if (made.statistics)
		make_exemplars(&edge, made.statistics, arena, ret_result);
	if (request->evidence == XP_EVIDENCE_FULL)
		ret_result->pairs = xp_pair_docs_make(&edge, arena, &ret_result->n_pairs);
	return 0;
}

/* Doubts about the capture as a whole; the verdict is that of the worst edge. */
static struct xp_quality quality_of(const struct xp_graph_request *request, const struct xp_graph_result *value, struct xp_arena *arena)
{
	struct xp_issues issues = { .arena = arena };
	struct xp_quality quality;

	xp_capture_doubts(request->edges[0].edge.facts, &issues);
	quality = xp_quality_of(&issues);
	for (size_t i = 0; i < value->n_edges; i++)
		if (value->edges[i].quality.verdict == XP_CAUTIOUS)
			quality.verdict = XP_CAUTIOUS;
	return quality;
}

/* Those of the command, then those of each edge, each code once. */
static void make_warnings(const struct xp_graph_request *request, struct xp_graph_result *value, struct xp_arena *arena)
{
	struct xp_warnings warnings = { .arena = arena };

	for (size_t i = 0; request->warnings && i < request->warnings->n; i++)
		xp_warn(&warnings, request->warnings->at[i].code, json_incref(request->warnings->at[i].details), "%s",
			request->warnings->at[i].message);
	for (size_t i = 0; i < value->n_edges; i++) {
		struct xp_edge_value made = { .clock = value->edges[i].clock };

		xp_measurement_warn(&warnings, &request->edges[i].edge, &made);
	}
	value->warnings = warnings.at;
	value->n_warnings = warnings.n;
}

int xp_graph_make(const struct xp_graph_request *request, struct xp_arena *arena, struct xp_graph_result **ret_value, struct xp_err *reterr)
{
	struct xp_graph_result *value = xp_arena_new_of(arena, struct xp_graph_result);
	const struct xp_capture_facts *facts = request->edges[0].edge.facts;

	*value = (struct xp_graph_result){
		.session_id = request->session_id,
		.status = (int)facts->status,
		.target = request->target,
		.name = request->name,
		.edges = xp_arena_array(arena, struct xp_graph_edge_result, request->n_edges),
		.n_edges = request->n_edges,
		.collection = xp_collection_complete(&request->collection, request->edges[0].edge.store),
		.evidence = { (int)request->evidence, request->artifact },
		.cost = facts->cost,
		.samples = request->samples,
		.arena = arena,
	};
	for (size_t i = 0; i < request->n_edges; i++) {
		int r = make_edge(request, &request->edges[i], arena, &value->edges[i], reterr);

		if (r)
			return r;
	}
	value->quality = quality_of(request, value, arena);
	make_warnings(request, value, arena);
	*ret_value = value;
	return 0;
}
