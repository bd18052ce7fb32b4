// SPDX-License-Identifier: Apache-2.0
/* Field tables of TriageResult and its index file. No state. */
#include "result/triage.h"
#include "result/triage_gpu.h"

static const struct xp_field window_fields[] = {
	XP_FIELD(xp_triage_window, start_ns, U64, "CLOCK_MONOTONIC"),
	XP_FIELD(xp_triage_window, duration_ns, U64, "as it came out"),
	XP_FIELD(xp_triage_window, requested_ms, U64, "--duration-ms"),
};
static const struct xp_record window_record = XP_RECORD("TriageWindow", xp_triage_window, window_fields, "the one window of all sources");

static const struct xp_field top_thread_fields[] = {
	XP_FIELD(xp_triage_top_thread, tid, U32, "thread id"),
	XP_FIELD(xp_triage_top_thread, name, STR, "thread name"),
	XP_FIELD(xp_triage_top_thread, on_cpu_ns, U64, "ran on a CPU"),
	XP_FIELD(xp_triage_top_thread, runqueue_ns, U64, "waited for a CPU"),
	XP_FIELD(xp_triage_top_thread, blocked_ns, U64, "neither"),
	XP_FIELD(xp_triage_top_thread, state, STR, "state letter of /proc at the end", .flags = XP_NULLABLE),
};
static const struct xp_record top_thread_record = XP_RECORD("TriageThread", xp_triage_top_thread, top_thread_fields, "one thread");

static const struct xp_field threads_fields[] = {
	XP_FIELD(xp_triage_threads, count, U32, "threads seen"),
	XP_FIELD(xp_triage_threads, active, U32, "on a CPU for 1 % of the window, or blocked and woken five times a second"),
	XP_FIELD(xp_triage_threads, started, U32, "seen to start"),
	XP_FIELD(xp_triage_threads, ended, U32, "seen to end"),
	XP_FIELD(xp_triage_threads, vanished_cpu_ns, U64, "CPU time of threads that came and went between two readings"),
	XP_FIELD(xp_triage_threads, on_cpu_ns, U64, "sum over threads"),
	XP_FIELD(xp_triage_threads, runqueue_ns, U64, "sum over threads"),
	XP_FIELD(xp_triage_threads, blocked_ns, U64, "sum over threads"),
	XP_FIELD(xp_triage_threads, major_faults, U64, "page faults that read from a disk"),
	XP_FIELD(xp_triage_threads, voluntary_switches, U64, "times a thread blocked"),
	XP_FIELD(xp_triage_threads, involuntary_switches, U64, "times a thread was preempted"),
	XP_FIELD_LIST(xp_triage_threads, top, &top_thread_record, "at most 8, by on-CPU and run-queue time"),
	XP_FIELD_LIST(xp_triage_threads, groups, &xp_thread_group_record, "by name pattern, at most 16"),
};
static const struct xp_record threads_record = XP_RECORD("TriageThreads", xp_triage_threads, threads_fields, "threads in numbers");

static const struct xp_field cgroup_fields[] = {
	XP_FIELD(xp_triage_cgroup, version, I32, "1 or 2"),
	XP_FIELD(xp_triage_cgroup, path, STR, "the tightest or throttling group"),
	XP_FIELD(xp_triage_cgroup, level, U32, "0: the target's own group, 1: its parent, and so on"),
	XP_FIELD(xp_triage_cgroup, quota_us, OPT_I64, "null: no limit"),
	XP_FIELD(xp_triage_cgroup, period_us, OPT_U64, "length of a period"),
	XP_FIELD(xp_triage_cgroup, throttled_ns, OPT_U64, "null: the kernel does not report it"),
	XP_FIELD(xp_triage_cgroup, throttled_periods, OPT_U64, "periods in which the group was stopped"),
	XP_FIELD(xp_triage_cgroup, periods, OPT_U64, "periods in which it ran"),
	XP_FIELD(xp_triage_cgroup, cpus, OPT_F64, "quota / period"),
};
static const struct xp_record cgroup_record = XP_RECORD("TriageCgroup", xp_triage_cgroup, cgroup_fields, "the CPU limit that matters");

static const struct xp_field top_syscall_fields[] = {
	XP_FIELD(xp_triage_top_syscall, syscall_name, STR, "null: the number has no name", .flags = XP_NULLABLE),
	XP_FIELD(xp_triage_top_syscall, count, U64, "calls"),
	XP_FIELD(xp_triage_top_syscall, errors, U64, "of them failed"),
	XP_FIELD(xp_triage_top_syscall, total_ns, U64, "time in it"),
	XP_FIELD(xp_triage_top_syscall, max_ns, U64, "longest call"),
};
static const struct xp_record top_syscall_record = XP_RECORD("TriageSyscall", xp_triage_top_syscall, top_syscall_fields, "one syscall");

static const struct xp_field syscalls_fields[] = {
	XP_FIELD(xp_triage_syscalls, calls, U64, "calls"),
	XP_FIELD(xp_triage_syscalls, errors, U64, "of them failed"),
	XP_FIELD(xp_triage_syscalls, interrupted, U64, "of them were interrupted"),
	XP_FIELD(xp_triage_syscalls, open_at_end, U64, "still inside at the end"),
	XP_FIELD_LIST(xp_triage_syscalls, top, &top_syscall_record, "at most 8, by total time"),
};
static const struct xp_record syscalls_record = XP_RECORD("TriageSyscalls", xp_triage_syscalls, syscalls_fields, "syscalls in numbers");

static const struct xp_field top_function_fields[] = {
	XP_FIELD(xp_triage_top_function, symbol, STR, "function; null: it has no name", .flags = XP_NULLABLE),
	XP_FIELD(xp_triage_top_function, module, STR, "file; null: Python, kernel, or none", .flags = XP_NULLABLE),
	{ .name = "kind",
	  .doc = "what it is",
	  .kind = XP_KIND_ENUM,
	  .offset = offsetof(struct xp_triage_top_function, kind),
	  .names = xp_frame_kind_names,
	  .n_names = XP_FRAME_KIND_COUNT },
	XP_FIELD(xp_triage_top_function, exclusive_proportion, F64, "of the samples with it on top"),
	XP_FIELD(xp_triage_top_function, inclusive_proportion, F64, "of the samples with it anywhere"),
	XP_FIELD(xp_triage_top_function, source_path, STR, "Python only", .flags = XP_OPTIONAL),
	XP_FIELD(xp_triage_top_function, line, OPT_U32, "Python only: the line sampled most", .flags = XP_OPTIONAL),
};
static const struct xp_record top_function_record =
	XP_RECORD("TriageFunction", xp_triage_top_function, top_function_fields, "one function in the samples");

static const struct xp_field cpu_samples_fields[] = {
	XP_FIELD(xp_triage_cpu_samples, observed, U64, "samples"),
	XP_FIELD(xp_triage_cpu_samples, expected, F64, "CPU seconds x frequency"),
	XP_FIELD(xp_triage_cpu_samples, coverage, OPT_F64, "observed / expected; null: no CPU time"),
	{ .name = "python_status",
	  .doc = "whether there is Python and its frames could be read",
	  .kind = XP_KIND_ENUM,
	  .offset = offsetof(struct xp_triage_cpu_samples, python_status),
	  .names = xp_python_status_names,
	  .n_names = XP_PYTHON_STATUS_COUNT },
	XP_FIELD_LIST(xp_triage_cpu_samples, top, &top_function_record, "at most 8, by exclusive samples"),
};
static const struct xp_record cpu_samples_record =
	XP_RECORD("TriageCpuSamples", xp_triage_cpu_samples, cpu_samples_fields, "CPU samples in numbers");

static const struct xp_field top_block_fields[] = {
	XP_FIELD_ENUM(xp_triage_top_block, reason, xp_block_reason_names, "what kind of wait; lock: futex"),
	XP_FIELD(xp_triage_top_block, syscall_name, STR, "null: outside of calls, or no name", .flags = XP_NULLABLE),
	XP_FIELD(xp_triage_top_block, thread_name_pattern, STR, "thread name with each run of digits as one #"),
	XP_FIELD_STRS(xp_triage_top_block, stack, "at most 6 frames, leaf first; function (file:line) for Python"),
	XP_FIELD(xp_triage_top_block, count, U64, "blocks"),
	XP_FIELD(xp_triage_top_block, total_ns, U64, "their time in the window"),
	XP_FIELD(xp_triage_top_block, max_ns, U64, "the longest"),
};
static const struct xp_record top_block_record =
	XP_RECORD("TriageBlock", xp_triage_top_block, top_block_fields, "threads that waited with one stack");

static const struct xp_field off_cpu_fields[] = {
	XP_FIELD(xp_triage_off_cpu, blocks, U64, "blocks"),
	XP_FIELD(xp_triage_off_cpu, stacks_lost, U64, "long blocks without a stack"),
	XP_FIELD(xp_triage_off_cpu, blocked_ns, U64, "sum over threads"),
	XP_FIELD_LIST(xp_triage_off_cpu, top, &top_block_record, "at most 5, by total time"),
};
static const struct xp_record off_cpu_record = XP_RECORD("TriageOffCpu", xp_triage_off_cpu, off_cpu_fields, "waits in numbers");

/* Sources that no inventory of this build feeds are null; their members get a record with the inventory. */
static const struct xp_field summary_fields[] = {
	XP_FIELD_PTR(xp_triage_summary, threads, &threads_record, "null: source unavailable", .flags = XP_NULLABLE),
	XP_FIELD_PTR(xp_triage_summary, cgroup, &cgroup_record, "null: source unavailable", .flags = XP_NULLABLE),
	XP_FIELD_PTR(xp_triage_summary, cpu_samples, &cpu_samples_record, "null: source unavailable", .flags = XP_NULLABLE),
	XP_FIELD_PTR(xp_triage_summary, off_cpu, &off_cpu_record, "null: source unavailable", .flags = XP_NULLABLE),
	XP_FIELD_PTR(xp_triage_summary, syscalls, &syscalls_record, "null: source unavailable", .flags = XP_NULLABLE),
	XP_FIELD_PTR(xp_triage_summary, gpu, &xp_gpu_summary_record, "null: source unavailable", .flags = XP_NULLABLE),
	XP_FIELD_PTR(xp_triage_summary, cuda_kernels, &xp_triage_cuda_kernels_record, "null: source unavailable", .flags = XP_NULLABLE),
	XP_FIELD_PTR(xp_triage_summary, cuda_copies, &xp_triage_cuda_copies_record, "null: source unavailable", .flags = XP_NULLABLE),
};
static const struct xp_record summary_record = XP_RECORD("TriageSummary", xp_triage_summary, summary_fields, "the window in numbers");

static const struct xp_field not_covered_fields[] = {
	XP_FIELD(xp_not_covered, code, STR, "what is missing"),
	XP_FIELD(xp_not_covered, message, STR, "one sentence"),
};
static const struct xp_record not_covered_record =
	XP_RECORD("NotCovered", xp_not_covered, not_covered_fields, "a question that this result cannot answer");

static const struct xp_field row_fields[] = {
	XP_FIELD_PTR(xp_triage_row, target, &xp_target_id_record, "the process"),
	XP_FIELD(xp_triage_row, parent_pid, U32, "when it was listed"),
	XP_FIELD(xp_triage_row, executable, STR, "path as the process sees it; empty: none"),
	XP_FIELD_ENUM(xp_triage_row, status, xp_status_names,
		      "failed: it ended or became another process; the window went on for the others"),
	XP_FIELD_LIST(xp_triage_row, sources, &xp_triage_source_record, "always the same eight, in order"),
	XP_FIELD_PTR(xp_triage_row, summary, &summary_record, "the window in numbers"),
	XP_FIELD_PTRS(xp_triage_row, findings, &xp_finding_record, "its own, ranked among themselves"),
	XP_FIELD(xp_triage_row, findings_total, U32, "before the cut"),
	XP_FIELD_PTR(xp_triage_row, cost, &xp_cost_record, "what the capture cost this process"),
};
static const struct xp_record row_record = XP_RECORD("TriageProcess", xp_triage_row, row_fields, "one of several processes");

static const struct xp_field fields[] = {
	XP_FIELD_CONST("schema_version", "3.0", "version of this record"),
	XP_FIELD_TRUE("ok", "the command succeeded"),
	XP_FIELD(xp_triage, session_id, STR, "names this run"),
	XP_FIELD_ENUM(xp_triage, status, xp_status_names, "how the window ended"),
	XP_FIELD_PTR(xp_triage, target, &xp_target_id_record, "null: several processes", .flags = XP_NULLABLE),
	XP_FIELD(xp_triage, name, STR, "--name", .flags = XP_NULLABLE),
	XP_FIELD_OBJ(xp_triage, window, &window_record, "the one window of all sources"),
	XP_FIELD_LIST(xp_triage, sources, &xp_triage_source_record, "always the same eight, in order",
		      .flags = XP_NULL_WHEN_EMPTY | XP_NULLABLE),
	XP_FIELD_PTR(xp_triage, summary, &summary_record, "the window in numbers; null: several processes", .flags = XP_NULLABLE),
	XP_FIELD_PTRS(xp_triage, findings, &xp_finding_record, "most of the window first, at most 12"),
	XP_FIELD(xp_triage, findings_total, U32, "before the cut"),
	XP_FIELD_LIST(xp_triage, not_covered, &not_covered_record, "what this result cannot answer"),
	XP_FIELD_LIST(xp_triage, processes, &row_record, "one entry a process, of a tree at most 16; null: one process",
		      .flags = XP_NULL_WHEN_EMPTY | XP_NULLABLE),
	XP_FIELD(xp_triage, processes_total, OPT_U32, "with --tree: processes found, the root included; null: no --tree"),
	XP_FIELD_LIST(xp_triage, odd_one_out, &xp_odd_record, "processes that differ from the others; null: one process",
		      .flags = XP_NULL_WHEN_EMPTY | XP_NULLABLE),
	XP_FIELD_OBJ(xp_triage, quality, &xp_quality_record, "how far the result can be trusted"),
	XP_FIELD_OBJ(xp_triage, evidence, &xp_evidence_record, "the index of the artifacts"),
	XP_FIELD_PTR(xp_triage, cost, &xp_cost_record, "what the capture cost the target", .flags = XP_NULLABLE),
	XP_FIELD_LIST(xp_triage, warnings, &xp_warning_record, "what the reader must know"),
};
const struct xp_record xp_triage_record =
	XP_RECORD("TriageResult", xp_triage, fields, "where the window of a process went, and what to do next");

static const struct xp_field file_fields[] = {
	XP_FIELD(xp_triage_file, rank, U32, "finding that proposes it"),
	XP_FIELD(xp_triage_file, code, STR, "its code"),
	XP_FIELD(xp_triage_file, path, STR, "spec for `measure --spec`"),
};
static const struct xp_record file_record = XP_RECORD("TriageSpecFile", xp_triage_file, file_fields, "a proposed spec, as a file");

static const struct xp_field index_row_fields[] = {
	XP_FIELD_OBJ(xp_triage_index_row, target, &xp_target_id_record, "the process"),
	XP_FIELD_LIST(xp_triage_index_row, sources, &xp_triage_source_record, "each with its artifact"),
};
static const struct xp_record index_row_record =
	XP_RECORD("TriageIndexProcess", xp_triage_index_row, index_row_fields, "files of one of several processes");

static const struct xp_field index_fields[] = {
	XP_FIELD_CONST("schema_version", "3.0", "version of this record"),
	XP_FIELD(xp_triage_index, session_id, STR, "names this run"),
	XP_FIELD_PTR(xp_triage_index, target, &xp_target_id_record, "the process; null: several", .flags = XP_NULLABLE),
	XP_FIELD_OBJ(xp_triage_index, window, &window_record, "the one window of all sources"),
	XP_FIELD_LIST(xp_triage_index, sources, &xp_triage_source_record, "each with its artifact; null: several processes",
		      .flags = XP_NULL_WHEN_EMPTY | XP_NULLABLE),
	XP_FIELD_LIST(xp_triage_index, processes, &index_row_record, "null: one process", .flags = XP_NULL_WHEN_EMPTY | XP_NULLABLE),
	XP_FIELD_LIST(xp_triage_index, specs, &file_record, "proposed specs"),
};
const struct xp_record xp_triage_index_record =
	XP_RECORD("TriageIndex", xp_triage_index, index_fields, "where everything of a triage lies");
