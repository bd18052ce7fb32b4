/* SPDX-License-Identifier: Apache-2.0 */
/* Field table of CpuSampleInventoryResult (contract 10.8). No state. */
#include "inventory/cpu_samples.h"

static const char *const completeness_names[XP_CPU_COMPLETENESS_COUNT] = {
	[XP_CPU_COMPLETE] = "complete", [XP_CPU_INCOMPLETE] = "incomplete"
};
static const char *const python_source_names[XP_PYTHON_SOURCE_COUNT] = {
	[XP_PYTHON_FROM_FRAMES] = "frames",
	[XP_PYTHON_FROM_PERF_MAP] = "perf_map",
	[XP_PYTHON_FROM_NOTHING] = "none",
};

static const struct xp_field group_fields[] = {
	XP_FIELD_PTRS(xp_stack_group, frames, &xp_frame_record, "leaf first; the size budget cuts callers first"),
	XP_FIELD(xp_stack_group, frames_total, U64, "frames of the stack; the artifact has them all"),
	XP_FIELD(xp_stack_group, samples, U64, "samples of this stack"),
	XP_FIELD(xp_stack_group, proportion, F64, "of observed_samples"),
	XP_FIELD(xp_stack_group, thread_name_pattern, STR, "threads it was seen in"),
	XP_FIELD(xp_stack_group, interval_95, INTERVAL, "Wilson interval of the proportion"),
};
static const struct xp_record group_record =
	XP_RECORD("StackGroup", xp_stack_group, group_fields, "samples with one stack, function by function");

static const struct xp_field hotspot_fields[] = {
	XP_FIELD_PTR(xp_hotspot, frame, &xp_frame_record, "the function; of Python the line that was sampled most"),
	XP_FIELD(xp_hotspot, inclusive_samples, U64, "samples with it anywhere on the stack"),
	XP_FIELD(xp_hotspot, exclusive_samples, U64, "samples with it on top"),
	XP_FIELD(xp_hotspot, inclusive_proportion, F64, "of observed_samples"),
	XP_FIELD(xp_hotspot, exclusive_proportion, F64, "of observed_samples"),
	XP_FIELD(xp_hotspot, inclusive_interval_95, INTERVAL, "Wilson interval"),
	XP_FIELD(xp_hotspot, exclusive_interval_95, INTERVAL, "Wilson interval"),
	XP_FIELD(xp_hotspot, entry_selector_hint, STR, "ready selector; null: not native, no symbol, not probeable, or far down the list",
		 .flags = XP_NULLABLE),
	XP_FIELD(xp_hotspot, return_selector_hint, STR,
		 "ready selector; null: as entry, or its return can't be probed safely, or it is no large part", .flags = XP_NULLABLE),
};
static const struct xp_record hotspot_record = XP_RECORD("Hotspot", xp_hotspot, hotspot_fields, "one function in the samples");

static const struct xp_field inventory_fields[] = {
	XP_FIELD(xp_cpu_inventory, name, STR, "--name", .flags = XP_NULLABLE),
	XP_FIELD_CONST("sample_event", "cpu_clock", "a sample each time a thread has run for 1 / frequency_hz, on average"),
	XP_FIELD(xp_cpu_inventory, frequency_hz, U64, "samples per second of CPU time"),
	XP_FIELD(xp_cpu_inventory, duration_ms, U64, "window asked for"),
	XP_FIELD_LIST(xp_cpu_inventory, stack_groups, &group_record, "by samples falling, then frames"),
	XP_FIELD_LIST(xp_cpu_inventory, hotspots, &hotspot_record, "by exclusive, then inclusive samples falling"),
};
static const struct xp_record inventory_record = XP_RECORD("CpuSampleInventory", xp_cpu_inventory, inventory_fields, "where CPU time went");

static const struct xp_field collection_fields[] = {
	XP_FIELD_ENUM(xp_cpu_collection, completeness, completeness_names,
		      "complete: no bound reached, nothing lost or throttled, no thread skipped, coverage at least 0.9"),
	XP_FIELD(xp_cpu_collection, observed_samples, U64, "samples kept"),
	XP_FIELD(xp_cpu_collection, grouped_samples, U64, "of these in stack_groups before the size budget"),
	XP_FIELD(xp_cpu_collection, lost_samples, U64, "samples that were taken and not kept"),
	XP_FIELD(xp_cpu_collection, sample_capacity, U64, "--max-samples"),
	XP_FIELD(xp_cpu_collection, group_capacity, U64, "--max-groups"),
	XP_FIELD(xp_cpu_collection, groups, U64, "different stacks kept"),
	XP_FIELD(xp_cpu_collection, table_utilization, F64, "groups / group_capacity"),
	XP_FIELD(xp_cpu_collection, stack_depth, U32, "--stack-depth"),
	XP_FIELD(xp_cpu_collection, truncated_stacks, U64, "samples whose stack goes on beyond the depth or the copied stack"),
	XP_FIELD(xp_cpu_collection, threads_observed, U32, "threads found when sampling began; with BPF also those started since"),
	XP_FIELD(xp_cpu_collection, threads_attached, U32,
		 "of these sampled; without BPF later ones are sampled with the thread that made them"),
	XP_FIELD(xp_cpu_collection, thread_capacity, U32, "--max-threads"),
	XP_FIELD(xp_cpu_collection, expected_samples, F64, "CPU seconds x frequency"),
	XP_FIELD(xp_cpu_collection, coverage, OPT_F64, "samples taken / expected_samples; null: no CPU time"),
	XP_FIELD(xp_cpu_collection, target_cpu_ns, U64, "CPU time of the process in the window"),
	XP_FIELD(xp_cpu_collection, kernel_samples, OPT_U64, "samples in the kernel; null: not sampled for lack of rights"),
	XP_FIELD(xp_cpu_collection, unwind_failed, U64, "samples whose stack could not be followed to its end"),
	XP_FIELD(xp_cpu_collection, torn_python_stacks, U64, "samples whose Python part was dropped"),
	XP_FIELD(xp_cpu_collection, threads_started, U32, "threads seen at the end or in samples, not at the start"),
	XP_FIELD(xp_cpu_collection, threads_ended, U32, "threads seen at the start or in samples, not at the end"),
	XP_FIELD(xp_cpu_collection, groups_listed, U64, "groups in this document; all are in the artifact"),
	XP_FIELD(xp_cpu_collection, hotspots_listed, U64, "hotspots in this document; all are in the artifact"),
	XP_FIELD(xp_cpu_collection, window_ns, U64, "length of the window"),
	XP_FIELD_LIST(xp_cpu_collection, sources, &xp_account_record, "where every sample went"),
};
static const struct xp_record collection_record =
	XP_RECORD("CpuSampleCollection", xp_cpu_collection, collection_fields, "what was seen, kept and lost");

static const struct xp_field symbolization_fields[] = {
	XP_FIELD(xp_symbolization, total_frames, U64, "frames of all different stacks"),
	XP_FIELD(xp_symbolization, resolved_native_frames, U64, "in a function with a name"),
	XP_FIELD(xp_symbolization, resolved_python_frames, U64, "Python functions"),
	XP_FIELD(xp_symbolization, unresolved_frames, U64, "module+offset, or an address alone"),
	XP_FIELD_ENUM(xp_symbolization, python_status, xp_python_status_names, "whether there is Python and its frames could be read"),
	XP_FIELD(xp_symbolization, python_version, STR, "null: no Python", .flags = XP_NULLABLE),
	XP_FIELD_ENUM(xp_symbolization, python_source, python_source_names, "where Python names come from; null: no Python",
		      .flags = XP_NULLABLE),
	XP_FIELD(xp_symbolization, resolved_kernel_frames, U64, "kernel functions"),
	XP_FIELD(xp_symbolization, resolved_jit_frames, U64, "functions of perf maps"),
	XP_FIELD(xp_symbolization, deadline_reached, BOOL, "symbol work stopped after 2 s; the rest is module+offset"),
};
static const struct xp_record symbolization_record =
	XP_RECORD("Symbolization", xp_symbolization, symbolization_fields, "how many frames have names");

static const struct xp_field pattern_fields[] = {
	XP_FIELD(xp_cpu_pattern, name_pattern, STR, "thread name with each run of digits as one #; * holds the rest"),
	XP_FIELD(xp_cpu_pattern, threads, U32, "threads with samples or CPU time"),
	XP_FIELD(xp_cpu_pattern, samples, U64, "their samples"),
	XP_FIELD(xp_cpu_pattern, cpu_ns, U64, "their CPU time; of ended threads by their samples"),
};
static const struct xp_record pattern_record = XP_RECORD("CpuThreads", xp_cpu_pattern, pattern_fields, "threads of one name pattern");

static const struct xp_field fields[] = {
	XP_FIELD_CONST("schema_version", "2.0", "version of this record"),
	XP_FIELD_TRUE("ok", "always true"),
	XP_FIELD_AS(xp_cpu_samples, "session_id", head.session_id, STR, "session that made it"),
	{ .name = "status",
	  .doc = "how the window ended",
	  .kind = XP_KIND_ENUM,
	  .offset = offsetof(struct xp_cpu_samples, head.status),
	  .names = xp_status_names,
	  .n_names = XP_STATUS_COUNT },
	{ .name = "target",
	  .doc = "the process",
	  .kind = XP_KIND_OBJ,
	  .offset = offsetof(struct xp_cpu_samples, head.target),
	  .sub = &xp_target_id_record },
	XP_FIELD_OBJ(xp_cpu_samples, inventory, &inventory_record, "stacks and functions"),
	XP_FIELD_OBJ(xp_cpu_samples, collection, &collection_record, "what was seen, kept and lost"),
	XP_FIELD_OBJ(xp_cpu_samples, symbolization, &symbolization_record, "how many frames have names"),
	XP_FIELD_LIST(xp_cpu_samples, threads, &pattern_record, "by thread name pattern, most samples first"),
	XP_FIELD_PTR(xp_cpu_samples, off_cpu, &xp_off_cpu_record, "where threads waited; null: without --off-cpu", .flags = XP_NULLABLE),
	XP_FIELD_OBJ(xp_cpu_samples, quality, &xp_quality_record, "how far it can be trusted"),
	{ .name = "evidence",
	  .doc = "where the evidence is",
	  .kind = XP_KIND_OBJ,
	  .offset = offsetof(struct xp_cpu_samples, head.evidence),
	  .sub = &xp_evidence_record },
	{ .name = "cost",
	  .doc = "what it cost the target",
	  .kind = XP_KIND_PTR,
	  .flags = XP_NULLABLE,
	  .offset = offsetof(struct xp_cpu_samples, head.cost),
	  .sub = &xp_cost_record },
	{ .name = "warnings",
	  .doc = "what the reader must know",
	  .kind = XP_KIND_LIST,
	  .offset = offsetof(struct xp_cpu_samples, head.warnings),
	  .count_offset = offsetof(struct xp_cpu_samples, head.n_warnings),
	  .sub = &xp_warning_record },
};
const struct xp_record xp_cpu_samples_record =
	XP_RECORD("CpuSampleInventoryResult", xp_cpu_samples, fields, "CPU time of one process in one window, by stack and function");
