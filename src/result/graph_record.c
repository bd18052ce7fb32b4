/* SPDX-License-Identifier: Apache-2.0 */
/* Field tables of MeasurementGraphResult 3.0. No state. */
#include "result/graph.h"

static const struct xp_field exemplar_fields[] = {
	XP_FIELD_ENUM(xp_compact_exemplar, rank, xp_rank_names, "which element of the sorted latencies"),
	XP_FIELD(xp_compact_exemplar, latency_ns, U64, "distance of the two"),
	XP_FIELD(xp_compact_exemplar, start_event_id, STR, "start event, in the artifact"),
	XP_FIELD(xp_compact_exemplar, end_event_id, STR, "end event, in the artifact"),
	XP_FIELD(xp_compact_exemplar, start_ns, U64, "time of the start"),
	XP_FIELD(xp_compact_exemplar, end_ns, U64, "time of the end"),
};
static const struct xp_record exemplar_record =
	XP_RECORD("CompactExemplar", xp_compact_exemplar, exemplar_fields, "one pair that stands for a rank, by its events' ids");

static const struct xp_field edge_fields[] = {
	XP_FIELD(xp_graph_edge_result, name, STR, "as in the spec"),
	XP_FIELD(xp_graph_edge_result, start, STR, "name of the start endpoint"),
	XP_FIELD(xp_graph_edge_result, end, STR, "name of the end endpoint"),
	XP_FIELD_ENUM(xp_graph_edge_result, match_policy, xp_policy_names, "as used"),
	XP_FIELD_OBJ(xp_graph_edge_result, samples, &xp_sample_counts_record, "how many events were paired"),
	XP_FIELD_PTR(xp_graph_edge_result, latency_ns, &xp_latency_record, "null: the edge failed (only inside details.partial)",
		     .flags = XP_NULLABLE),
	XP_FIELD_OBJ(xp_graph_edge_result, correlation, &xp_correlation_record, "how starts found their ends"),
	XP_FIELD_OBJ(xp_graph_edge_result, clock, &xp_clock_quality_record, "how well the clocks agree"),
	XP_FIELD_OBJ(xp_graph_edge_result, quality, &xp_quality_record, "how far the edge can be trusted"),
	XP_FIELD_LIST(xp_graph_edge_result, exemplars, &exemplar_record, "min p50 p90 p99 max, five, in this order; none when it failed"),
	XP_FIELD_LIST(xp_graph_edge_result, pairs, &xp_pair_record, "every pair, by start time; null: summary",
		      .flags = XP_NULLABLE | XP_NULL_WHEN_EMPTY),
};
static const struct xp_record edge_record =
	XP_RECORD("GraphEdge", xp_graph_edge_result, edge_fields, "latency between two endpoints of a graph");

static const struct xp_field evidence_fields[] = {
	XP_FIELD_ENUM(xp_graph_evidence, mode, xp_evidence_mode_names, "summary or full"),
	XP_FIELD_PTR(xp_graph_evidence, artifact, &xp_event_artifact_record,
		     "the whole capture: `measure --input` repeats any edge on it; null: nothing was captured", .flags = XP_NULLABLE),
};
static const struct xp_record evidence_record = XP_RECORD("GraphEvidence", xp_graph_evidence, evidence_fields, "where the capture is");

static const struct xp_field graph_fields[] = {
	XP_FIELD_CONST("schema_version", "3.0", "version of this record"),
	XP_FIELD_TRUE("ok", "a result, not an error"),
	XP_FIELD(xp_graph_result, session_id, STR, "the command run that made it"),
	XP_FIELD_ENUM(xp_graph_result, status, xp_status_names, "how the window ended; failed only inside details.partial"),
	XP_FIELD_PTR(xp_graph_result, target, &xp_target_id_record, "the process", .flags = XP_NULLABLE),
	XP_FIELD(xp_graph_result, name, STR, "of the spec; null: none", .flags = XP_NULLABLE),
	XP_FIELD_LIST(xp_graph_result, edges, &edge_record, "in spec order; correlated one by one, never joined into chains"),
	XP_FIELD_OBJ(xp_graph_result, collection, &xp_collection_record, "what was captured"),
	XP_FIELD_OBJ(xp_graph_result, quality, &xp_quality_record, "of the capture as a whole; caution when any edge is"),
	XP_FIELD_OBJ(xp_graph_result, evidence, &evidence_record, "where the capture is"),
	XP_FIELD_PTR(xp_graph_result, cost, &xp_cost_record, "what the capture cost the target; null: offline", .flags = XP_NULLABLE),
	XP_FIELD_LIST(xp_graph_result, warnings, &xp_warning_record, "what the reader must know"),
};
const struct xp_record xp_graph_result_record =
	XP_RECORD("MeasurementGraphResult", xp_graph_result, graph_fields, "latencies of several pairs from one capture");
