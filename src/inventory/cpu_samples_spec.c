/* SPDX-License-Identifier: Apache-2.0 */
/* Field tables of CpuSamplingSpec and CpuSamplingValidationResult (contract 10.2, 10.8). No state. */
#include "inventory/cpu_samples_spec.h"

#include "elf/python.h"
#include "engine/bpf_sample.h"
#include "plan/validation.h"

static const char *const event_names[] = { "cpu_clock" };

static const struct xp_field spec_fields[] = {
	XP_FIELD_CONST("schema_version", "2.0", "version of this record"),
	XP_FIELD(xp_cpu_spec, name, STR, "copied into the result", .flags = XP_NULLABLE),
	XP_FIELD_OBJ(xp_cpu_spec, target, &xp_target_id_record, "must fit when it runs, else TARGET_REUSED"),
	XP_FIELD_ENUM(xp_cpu_spec, sample_event, event_names, "a sample each time a thread has run for 1 / frequency_hz"),
	XP_FIELD(xp_cpu_spec, frequency_hz, U64, "samples per second of CPU time, 1..10,000"),
	XP_FIELD(xp_cpu_spec, duration_ms, U64, "length of the window, 1..3,600,000"),
	XP_FIELD(xp_cpu_spec, timeout_ms, U64, "bound of attach and window, 1..3,600,000"),
	XP_FIELD(xp_cpu_spec, max_samples, U64, "samples kept, 1..10,000,000"),
	XP_FIELD(xp_cpu_spec, max_groups, U64, "different stacks kept, 1..1,048,576"),
	XP_FIELD(xp_cpu_spec, stack_depth, U64, "frames kept per stack, 1..512"),
	XP_FIELD(xp_cpu_spec, max_threads, U64, "threads sampled, 1..65,536"),
	XP_FIELD(xp_cpu_spec, off_cpu, OPT_BOOL, "add blocked stacks", .flags = XP_OPTIONAL),
	XP_FIELD(xp_cpu_spec, min_block_us, OPT_U64, "shorter blocks give counts, no stack; with off_cpu", .flags = XP_OPTIONAL),
	XP_FIELD(xp_cpu_spec, threads, STR, "name~REGEX: only threads whose name matches", .flags = XP_OPTIONAL | XP_NULLABLE),
};
const struct xp_record xp_cpu_spec_record =
	XP_RECORD("CpuSamplingSpec", xp_cpu_spec, spec_fields, "CPU sampling to run, told by sample_event", .closed = true);

static const struct xp_field needs_fields[] = {
	XP_FIELD_TRUE("needs_perf_event", "always true"),
	XP_FIELD(xp_cpu_needs, target_mutation, BOOL, "always false"),
};
static const struct xp_record needs_record = XP_RECORD("CpuSamplingRequirements", xp_cpu_needs, needs_fields, "what it needs");

static const struct xp_field perf_fields[] = {
	{ .name = "status",
	  .doc = "whether samples can be taken",
	  .kind = XP_KIND_ENUM,
	  .offset = offsetof(struct xp_cpu_perf_event, status),
	  .names = xp_feature_status_names,
	  .n_names = XP_FEATURE_STATUS_COUNT },
	XP_FIELD(xp_cpu_perf_event, detail, STR, "why not; null: available", .flags = XP_NULLABLE),
};
static const struct xp_record perf_record = XP_RECORD("CpuSamplingPerfEvent", xp_cpu_perf_event, perf_fields, "the right as tried");

static const struct xp_field validation_fields[] = {
	XP_FIELD_CONST("schema_version", "2.0", "version of this record"),
	XP_FIELD_TRUE("ok", "always true"),
	XP_FIELD(xp_cpu_validation, valid, BOOL, "no issue; callers must stop on false"),
	XP_FIELD_OBJ(xp_cpu_validation, target, &xp_target_id_record, "the process"),
	XP_FIELD(xp_cpu_validation, target_threads, U32, "its threads now"),
	XP_FIELD_OBJ(xp_cpu_validation, requirements, &needs_record, "what a capture needs"),
	XP_FIELD_OBJ(xp_cpu_validation, perf_event, &perf_record, "the right as tried"),
	{ .name = "python_status",
	  .doc = "whether there is Python and its frames can be read",
	  .kind = XP_KIND_ENUM,
	  .offset = offsetof(struct xp_cpu_validation, python_status),
	  .names = xp_python_status_names,
	  .n_names = XP_PYTHON_STATUS_COUNT },
	XP_FIELD(xp_cpu_validation, kernel_frames, BOOL, "time in the kernel can be sampled"),
	{ .name = "sampler",
	  .doc = "how samples would be taken",
	  .kind = XP_KIND_ENUM,
	  .offset = offsetof(struct xp_cpu_validation, sampler),
	  .names = xp_sampler_kind_names,
	  .n_names = XP_SAMPLER_KIND_COUNT },
	XP_FIELD_PTR(xp_cpu_validation, off_cpu, &xp_feature_record, "the right for blocked stacks; null: not asked for",
		     .flags = XP_NULLABLE),
	XP_FIELD_LIST(xp_cpu_validation, issues, &xp_plan_issue_record, "one a reason"),
	XP_FIELD_LIST(xp_cpu_validation, features, &xp_feature_record, "every missing right, as tried"),
	XP_FIELD_LIST(xp_cpu_validation, warnings, &xp_warning_record, "what the reader must know"),
};
const struct xp_record xp_cpu_validation_record =
	XP_RECORD("CpuSamplingValidationResult", xp_cpu_validation, validation_fields, "whether CPU sampling can run");
