// SPDX-License-Identifier: Apache-2.0
/* Field tables of a finding and its next step. No state. */
#include "triage/finding.h"

static const char *const confidence_names[XP_FINDING_CONFIDENCE_COUNT] = { [XP_MEASURED] = "measured", [XP_ESTIMATED] = "estimated" };

static const struct xp_field next_spec_fields[] = {
	XP_FIELD_CONST("kind", "measurement_spec", "a measurement that `measure --spec` takes as it stands"),
	XP_FIELD_PTR(xp_next_spec, spec, &xp_measurement_spec_record, "the spec"),
	XP_FIELD(xp_next_spec, target_mutation, BOOL, "running it would inject the agent"),
};
static const struct xp_record next_spec_record = XP_RECORD("NextMeasurement", xp_next_spec, next_spec_fields, "measure this next");

static const struct xp_field next_action_fields[] = {
	XP_FIELD_CONST("kind", "environment_action", "something to do outside of a measurement"),
	XP_FIELD(xp_next_action, code, STR, "stable code of the action"),
	XP_FIELD(xp_next_action, message, STR, "one sentence for people"),
	XP_FIELD_STRS(xp_next_action, command, "words of a command to run; null: none", .flags = XP_NULL_WHEN_EMPTY | XP_NULLABLE),
	XP_FIELD(xp_next_action, object, STR, "what to act on", .flags = XP_NULLABLE),
};
static const struct xp_record next_action_record = XP_RECORD("NextAction", xp_next_action, next_action_fields, "do this next");

static const struct xp_record *const next_variants[XP_NEXT_KIND_COUNT] = {
	[XP_NEXT_SPEC] = &next_spec_record,
	[XP_NEXT_ACTION] = &next_action_record,
};

static const struct xp_field finding_fields[] = {
	XP_FIELD(xp_finding, rank, U32, "from 1"),
	XP_FIELD(xp_finding, code, STR, "rule, contract 14.1"),
	XP_FIELD(xp_finding, pid, U32, "process"),
	XP_FIELD(xp_finding, subject, STR, "thread, function, syscall, kernel, device, group or source"),
	XP_FIELD(xp_finding, window_share, OPT_F64, "part of the window in which the cause held up the target; shares overlap"),
	XP_FIELD(xp_finding, window_share_interval_95, INTERVAL, "of sampled shares only", .flags = XP_NULLABLE),
	XP_FIELD_ENUM(xp_finding, confidence, confidence_names, "measured, or estimated as an upper bound"),
	XP_FIELD(xp_finding, message, STR, "one sentence for people"),
	XP_FIELD(xp_finding, evidence, JSON, "the inputs of the rule, by name", .flags = XP_OPEN_OBJECT),
	XP_FIELD_VARIANT(xp_finding, next, next_variants, "what to do next"),
};
const struct xp_record xp_finding_record = XP_RECORD("Finding", xp_finding, finding_fields, "one place where the window went");
