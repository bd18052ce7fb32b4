/* SPDX-License-Identifier: Apache-2.0 */
/* Field tables of what every result shares: accounts, cost, artifacts, evidence. No state. */
#include "collect/document.h"

const char *const xp_evidence_mode_names[XP_EVIDENCE_COUNT] = { [XP_EVIDENCE_SUMMARY] = "summary", [XP_EVIDENCE_FULL] = "full" };

static const struct xp_field account_fields[] = {
	XP_FIELD(xp_account, source, STR, "name of the event source, contract 15.1"),
	XP_FIELD(xp_account, emitted, U64, "records the source produced: delivered + dropped + filtered"),
	XP_FIELD(xp_account, delivered, U64, "records that reached the analysis"),
	XP_FIELD(xp_account, dropped, U64, "records lost between source and xprobe"),
	XP_FIELD_COUNTS(xp_account, dropped_reasons, "why records were lost"),
	XP_FIELD(xp_account, filtered, U64, "records of the target that a name filter took out"),
	XP_FIELD(xp_account, still_open, U64, "starts among the delivered without an end"),
};
const struct xp_record xp_account_record = XP_RECORD("SourceAccount", xp_account, account_fields, "where every record of a source went");

static const struct xp_field cost_fields[] = {
	XP_FIELD(xp_cost, probe_floor_ns, OPT_U64, "dearest probe in use, measured at start on xprobe itself; null: no host probe"),
	XP_FIELD(xp_cost, probe_events, U64, "times any probe, callback or sample ran in the target"),
	XP_FIELD(xp_cost, target_cpu_ns, OPT_U64, "CPU time of the target in the window; null: not readable"),
	XP_FIELD(xp_cost, cpu_share, OPT_F64, "events x floor / target_cpu_ns, at most 1; null: no CPU time known"),
	XP_FIELD(xp_cost, attach_ms, F64, "time to attach all probes and the agent"),
	XP_FIELD(xp_cost, detach_ms, F64, "time to detach them"),
	XP_FIELD(xp_cost, stall_ms, OPT_F64, "longest time the program stood still for us; null: no thread was stopped, no arm"),
	XP_FIELD(xp_cost, residual_ns_per_launch, OPT_U64, "what stays on each launch; null: no GPU activity captured"),
	XP_FIELD(xp_cost, limit, F64, "--max-cost"),
	XP_FIELD(xp_cost, limit_reached, BOOL, "the limit ended the window"),
};
const struct xp_record xp_cost_record = XP_RECORD("Cost", xp_cost, cost_fields, "what the capture cost the target");

static const struct xp_field event_artifact_fields[] = {
	XP_FIELD(xp_artifact, path, STR, "absolute path"),
	XP_FIELD(xp_artifact, format, STR, "jsonl or chrome"),
	XP_FIELD(xp_artifact, event_count, OPT_U64, "Events in the file"),
	XP_FIELD(xp_artifact, bytes, U64, "size of the file"),
};
const struct xp_record xp_event_artifact_record =
	XP_RECORD("EventArtifact", xp_artifact, event_artifact_fields, "a file of Events left for the caller");

static const struct xp_field json_artifact_fields[] = {
	XP_FIELD(xp_artifact, path, STR, "absolute path"),
	XP_FIELD(xp_artifact, format, STR, "json"),
	XP_FIELD(xp_artifact, bytes, U64, "size of the file"),
};
const struct xp_record xp_json_artifact_record = XP_RECORD("Artifact", xp_artifact, json_artifact_fields, "a file left for the caller");

static const struct xp_field evidence_fields[] = {
	XP_FIELD_ENUM(xp_evidence, mode, xp_evidence_mode_names, "summary or full"),
	XP_FIELD_PTR(xp_evidence, artifact, &xp_json_artifact_record, "the whole capture; null: nothing was captured",
		     .flags = XP_NULLABLE),
};
const struct xp_record xp_evidence_record = XP_RECORD("Evidence", xp_evidence, evidence_fields, "where the evidence is");
