/* SPDX-License-Identifier: Apache-2.0 */
/* Field tables of SyscallAggregateSpec and SyscallAggregateValidationResult (contract 10.2, 10.9). No state. */
#include "inventory/syscalls_spec.h"

#include "plan/validation.h"

static const struct xp_field spec_fields[] = {
	XP_FIELD_CONST("schema_version", "2.0", "version of this record"),
	XP_FIELD(xp_syscalls_spec, name, STR, "copied into the result", .flags = XP_NULLABLE),
	XP_FIELD_OBJ(xp_syscalls_spec, target, &xp_target_id_record, "must fit when it runs, else TARGET_REUSED"),
	XP_FIELD(xp_syscalls_spec, duration_ms, U64, "length of the window, 1..3,600,000"),
	XP_FIELD(xp_syscalls_spec, timeout_ms, U64, "bound of attach and window, 1..3,600,000"),
	XP_FIELD(xp_syscalls_spec, max_groups, U64, "different calls kept, 1..1,048,576"),
	XP_FIELD(xp_syscalls_spec, max_inflight, U64, "threads inside a call at one time, 1..65,536"),
	XP_FIELD(xp_syscalls_spec, threads, STR, "name~REGEX: only threads whose name matches", .flags = XP_OPTIONAL | XP_NULLABLE),
};
const struct xp_record xp_syscalls_spec_record = XP_RECORD("SyscallAggregateSpec", xp_syscalls_spec, spec_fields,
							   "a system call inventory to run, told by max_inflight", .closed = true);

static const struct xp_field needs_fields[] = {
	XP_FIELD_TRUE("needs_ebpf", "always true"),
	XP_FIELD(xp_syscalls_needs, target_mutation, BOOL, "always false"),
};
static const struct xp_record needs_record = XP_RECORD("SyscallAggregateRequirements", xp_syscalls_needs, needs_fields, "what it needs");

static const struct xp_field ebpf_fields[] = {
	{ .name = "status",
	  .doc = "whether the programs can be loaded and attached",
	  .kind = XP_KIND_ENUM,
	  .offset = offsetof(struct xp_syscalls_ebpf, status),
	  .names = xp_feature_status_names,
	  .n_names = XP_FEATURE_STATUS_COUNT },
	XP_FIELD(xp_syscalls_ebpf, detail, STR, "why not; null: available", .flags = XP_NULLABLE),
};
static const struct xp_record ebpf_record = XP_RECORD("SyscallAggregateEbpf", xp_syscalls_ebpf, ebpf_fields, "the right as tried");

static const struct xp_field validation_fields[] = {
	XP_FIELD_CONST("schema_version", "2.0", "version of this record"),
	XP_FIELD_TRUE("ok", "always true"),
	XP_FIELD(xp_syscalls_validation, valid, BOOL, "no issue; callers must stop on false"),
	XP_FIELD_OBJ(xp_syscalls_validation, target, &xp_target_id_record, "the process"),
	XP_FIELD_OBJ(xp_syscalls_validation, requirements, &needs_record, "what a capture needs"),
	XP_FIELD_OBJ(xp_syscalls_validation, ebpf, &ebpf_record, "the right as tried"),
	XP_FIELD_LIST(xp_syscalls_validation, issues, &xp_plan_issue_record, "one a reason"),
	XP_FIELD_LIST(xp_syscalls_validation, features, &xp_feature_record, "every missing right, as tried"),
	XP_FIELD_LIST(xp_syscalls_validation, warnings, &xp_warning_record, "what the reader must know"),
};
const struct xp_record xp_syscalls_validation_record =
	XP_RECORD("SyscallAggregateValidationResult", xp_syscalls_validation, validation_fields, "whether a system call inventory can run");
