/* SPDX-License-Identifier: Apache-2.0 */
/* Field tables of MeasurementResult 3.0. No state. */
#include "result/measurement.h"

static const struct xp_field cupti_fields[] = {
	XP_FIELD(xp_cupti_account, record_capacity, U64, "records the agent's ring holds"),
	XP_FIELD(xp_cupti_account, observed_records, U64, "records CUPTI delivered"),
	XP_FIELD(xp_cupti_account, retained_records, U64, "records kept"),
	XP_FIELD(xp_cupti_account, dropped_records, U64, "records lost"),
	XP_FIELD(xp_cupti_account, buffer_utilization, F64, "share of the ring in use at most"),
};
static const struct xp_record cupti_record = XP_RECORD("CuptiAccount", xp_cupti_account, cupti_fields, "the agent's record buffer");

static const struct xp_field collection_fields[] = {
	XP_FIELD_CONST("completeness", "complete", "an incomplete exact capture is an error, never a result"),
	XP_FIELD(xp_collection, host_events, U64, "retained events of the host"),
	XP_FIELD(xp_collection, cuda_events, U64, "retained events of CUDA and NVTX"),
	XP_FIELD(xp_collection, dropped_events, U64, "events lost between source and xprobe"),
	XP_FIELD_PTR(xp_collection, cupti, &cupti_record, "null: CUPTI took no part", .flags = XP_NULLABLE),
	XP_FIELD(xp_collection, window_ns, U64, "length of the window"),
	XP_FIELD_LIST(xp_collection, sources, &xp_account_record, "where every record went, contract 15.1"),
	XP_FIELD_PTR(xp_collection, cuda, &xp_cuda_account_record, "null: no CUDA endpoint", .flags = XP_NULLABLE),
};
const struct xp_record xp_collection_record = XP_RECORD("Collection", xp_collection, collection_fields, "what was captured");

static const struct xp_field measured_fields[] = {
	XP_FIELD(xp_measured, name, STR, "--name; null: none given", .flags = XP_NULLABLE),
	XP_FIELD(xp_measured, start_selector, STR, "as used"),
	XP_FIELD(xp_measured, end_selector, STR, "as used"),
	XP_FIELD_ENUM(xp_measured, match_policy, xp_policy_names, "as used"),
	XP_FIELD_OBJ(xp_measured, samples, &xp_sample_counts_record, "how many events were paired"),
	XP_FIELD_PTR(xp_measured, latency_ns, &xp_latency_record, "null: no pair (only inside details.partial)", .flags = XP_NULLABLE),
};
static const struct xp_record measured_record = XP_RECORD("Measured", xp_measured, measured_fields, "what was measured");

static const struct xp_field exemplar_fields[] = {
	XP_FIELD_ENUM(xp_exemplar, rank, xp_rank_names, "which element of the sorted latencies"),
	XP_FIELD_OBJ(xp_exemplar, start, &xp_event_record, "start event", .flags = XP_SPARSE),
	XP_FIELD_OBJ(xp_exemplar, end, &xp_event_record, "end event", .flags = XP_SPARSE),
	XP_FIELD(xp_exemplar, latency_ns, U64, "distance of the two"),
};
static const struct xp_record exemplar_record = XP_RECORD("Exemplar", xp_exemplar, exemplar_fields, "one pair that stands for a rank");

static const struct xp_field pair_fields[] = {
	XP_FIELD_OBJ(xp_pair_doc, start, &xp_event_record, "start event", .flags = XP_SPARSE),
	XP_FIELD_OBJ(xp_pair_doc, end, &xp_event_record, "end event", .flags = XP_SPARSE),
	XP_FIELD(xp_pair_doc, latency_ns, U64, "distance of the two"),
};
const struct xp_record xp_pair_record = XP_RECORD("Pair", xp_pair_doc, pair_fields, "one pair");

static const struct xp_field evidence_fields[] = {
	XP_FIELD_ENUM(xp_measured_evidence, mode, xp_evidence_mode_names, "summary or full"),
	XP_FIELD_LIST(xp_measured_evidence, exemplars, &exemplar_record, "min p50 p90 p99 max, always five, in this order"),
	XP_FIELD_LIST(xp_measured_evidence, pairs, &xp_pair_record, "every pair, by start time; null: summary",
		      .flags = XP_NULLABLE | XP_NULL_WHEN_EMPTY),
	XP_FIELD_PTR(xp_measured_evidence, artifact, &xp_event_artifact_record, "the whole capture; null: offline without --events-out",
		     .flags = XP_NULLABLE),
};
static const struct xp_record evidence_record =
	XP_RECORD("MeasurementEvidence", xp_measured_evidence, evidence_fields, "pairs to look at, and where the capture is");

static const struct xp_field measurement_fields[] = {
	XP_FIELD_CONST("schema_version", "3.0", "version of this record"),
	XP_FIELD_TRUE("ok", "a result, not an error"),
	XP_FIELD(xp_measurement, session_id, STR, "the command run that made it"),
	XP_FIELD_ENUM(xp_measurement, status, xp_status_names, "how the window ended; failed only inside details.partial"),
	XP_FIELD_PTR(xp_measurement, target, &xp_target_id_record, "null: offline without identity", .flags = XP_NULLABLE),
	XP_FIELD_OBJ(xp_measurement, measurement, &measured_record, "what was measured"),
	XP_FIELD_OBJ(xp_measurement, correlation, &xp_correlation_record, "how starts found their ends"),
	XP_FIELD_OBJ(xp_measurement, clock, &xp_clock_quality_record, "how well the clocks agree"),
	XP_FIELD_OBJ(xp_measurement, collection, &xp_collection_record, "what was captured"),
	XP_FIELD_OBJ(xp_measurement, quality, &xp_quality_record, "how far the result can be trusted"),
	XP_FIELD_OBJ(xp_measurement, evidence, &evidence_record, "pairs to look at, and where the capture is"),
	XP_FIELD_PTR(xp_measurement, cost, &xp_cost_record, "what the capture cost the target; null: offline", .flags = XP_NULLABLE),
	XP_FIELD_LIST(xp_measurement, warnings, &xp_warning_record, "what the reader must know"),
};
const struct xp_record xp_measurement_record =
	XP_RECORD("MeasurementResult", xp_measurement, measurement_fields, "latency between two events, measured exactly");
