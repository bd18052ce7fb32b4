// SPDX-License-Identifier: Apache-2.0
/* Field tables and judgement of TriageValidationResult. No state. */
#include "result/triage_validation.h"

static const struct xp_field check_fields[] = {
	XP_FIELD(xp_triage_check, name, STR, "one of the eight sources"),
	XP_FIELD_ENUM(xp_triage_check, status, xp_source_status_names, "whether a triage would have it"),
	XP_FIELD_ENUM(xp_triage_check, reason, xp_source_reason_names, "why not; null when available", .flags = XP_NULLABLE),
	XP_FIELD_PTR(xp_triage_check, feature, &xp_feature_record, "the right that was tried", .flags = XP_NULLABLE),
};
static const struct xp_record check_record = XP_RECORD("TriageSourceCheck", xp_triage_check, check_fields, "one source, tried");

static const struct xp_field requirements_fields[] = {
	XP_FIELD(xp_triage_requirements, needs_ebpf, BOOL, "a source loads BPF programs"),
	XP_FIELD(xp_triage_requirements, needs_perf_event, BOOL, "a source opens perf events"),
	XP_FIELD(xp_triage_requirements, needs_cupti, BOOL, "a source needs the CUPTI agent"),
	XP_FIELD(xp_triage_requirements, target_mutation, BOOL, "the agent would be injected"),
	XP_FIELD_ENUM(xp_triage_requirements, agent_activation, xp_activation_names, "how the agent would come in"),
};
static const struct xp_record requirements_record =
	XP_RECORD("TriageRequirements", xp_triage_requirements, requirements_fields, "what the available sources need");

static const struct xp_field fields[] = {
	XP_FIELD_CONST("schema_version", "2.0", "version of this record"),
	XP_FIELD_TRUE("ok", "the command succeeded"),
	XP_FIELD(xp_triage_validation, valid, BOOL, "false only when no source at all would be available"),
	XP_FIELD_PTR(xp_triage_validation, target, &xp_target_id_record, "the process; null: several", .flags = XP_NULLABLE),
	XP_FIELD_LIST(xp_triage_validation, processes, &xp_target_id_record, "of several --pid or --tree; null: one process",
		      .flags = XP_NULL_WHEN_EMPTY | XP_NULLABLE),
	XP_FIELD_LIST(xp_triage_validation, sources, &check_record, "always the same eight, in order"),
	XP_FIELD_OBJ(xp_triage_validation, requirements, &requirements_record, "what the available sources need"),
	XP_FIELD_LIST(xp_triage_validation, issues, &xp_plan_issue_record, "why a triage can't run"),
	XP_FIELD_LIST(xp_triage_validation, warnings, &xp_warning_record, "what the reader must know"),
};
const struct xp_record xp_triage_validation_record =
	XP_RECORD("TriageValidationResult", xp_triage_validation, fields, "which sources a triage would have now");

struct xp_triage_check xp_triage_check_of(enum xp_source_id id, const struct xp_feature *feature)
{
	struct xp_triage_check check = { .name = xp_source_names[id], .reason = XP_REASON_NONE, .feature = feature };

	/* A feature that could not be tried says nothing against the source. */
	if (feature->status == XP_FEATURE_AVAILABLE || feature->status == XP_FEATURE_UNKNOWN)
		return check;
	check.status = XP_SOURCE_UNAVAILABLE;
	check.reason = feature->status == XP_FEATURE_RESTRICTED ? XP_REASON_NOT_PERMITTED : XP_REASON_UNSUPPORTED;
	return check;
}

void xp_triage_validation_judge(struct xp_triage_validation *value, struct xp_arena *arena)
{
	struct xp_plan_issue *issue = xp_arena_new_of(arena, struct xp_plan_issue);

	for (size_t i = 0; i < value->n_sources; i++)
		value->valid |= value->sources[i].status == XP_SOURCE_AVAILABLE;
	if (value->valid)
		return;
	issue->code = xp_err_name(XP_E_PERMISSION_DENIED);
	issue->message = "no source of a triage is available";
	value->issues = issue;
	value->n_issues = 1;
}
