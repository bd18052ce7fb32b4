/* SPDX-License-Identifier: Apache-2.0 */
/* Field table of SyscallAggregateResult (contract 10.9). No state. */
#include "inventory/syscalls.h"

static const char *const completeness_names[XP_COMPLETENESS_COUNT] = { [XP_COMPLETE] = "complete", [XP_INCOMPLETE] = "incomplete" };

static const struct xp_field duration_fields[] = {
	XP_FIELD(xp_syscall_duration, min, U64, "shortest"),
	XP_FIELD(xp_syscall_duration, mean, F64, "total / count"),
	XP_FIELD(xp_syscall_duration, max, U64, "longest"),
	XP_FIELD(xp_syscall_duration, total, U64, "sum"),
};
static const struct xp_record duration_record =
	XP_RECORD("SyscallDuration", xp_syscall_duration, duration_fields, "time from entry to exit, ns");

static const struct xp_field group_fields[] = {
	XP_FIELD(xp_syscall_group, syscall_number, U32, "number, in the 32-bit table when compat is true"),
	XP_FIELD(xp_syscall_group, syscall_name, STR, "kernel name; null: the number has none", .flags = XP_NULLABLE),
	XP_FIELD(xp_syscall_group, compat, BOOL, "made by the 32-bit way"),
	XP_FIELD(xp_syscall_group, count, U64, "completed calls"),
	XP_FIELD(xp_syscall_group, errors, U64, "calls that failed; interrupted ones are not among them"),
	XP_FIELD(xp_syscall_group, interrupted, U64, "restart results of these calls: a signal came while they waited"),
	XP_FIELD_COUNTS(xp_syscall_group, errors_by_errno, "failed calls by error; \"other\" holds what is beyond 12 different ones"),
	XP_FIELD_OBJ(xp_syscall_group, duration_ns, &duration_record, "how long they took"),
	XP_FIELD(xp_syscall_group, histogram_log2_ns, HISTOGRAM, "[b, n]: n calls took 2^b to 2^(b+1) ns"),
	XP_FIELD(xp_syscall_group, threads, U32, "different threads that completed one"),
	XP_FIELD(xp_syscall_group, entry_selector_hint, STR, "ready selector; null: the number has no name", .flags = XP_NULLABLE),
	XP_FIELD(xp_syscall_group, exit_selector_hint, STR, "ready selector; null: the number has no name", .flags = XP_NULLABLE),
};
static const struct xp_record group_record = XP_RECORD("SyscallGroup", xp_syscall_group, group_fields, "completed calls of one number");

static const struct xp_field open_fields[] = {
	XP_FIELD(xp_syscall_open, tid, U32, "thread id in xprobe's PID namespace"),
	XP_FIELD(xp_syscall_open, thread_name, STR, "its name"),
	XP_FIELD(xp_syscall_open, syscall_number, U32, "the call it is inside of"),
	XP_FIELD(xp_syscall_open, syscall_name, STR, "kernel name; null: the number has none", .flags = XP_NULLABLE),
	XP_FIELD(xp_syscall_open, age_ns, U64, "time inside, from the window's start when it began earlier"),
	XP_FIELD(xp_syscall_open, started_before_window, BOOL, "it began before the window"),
};
static const struct xp_record open_record =
	XP_RECORD("OpenSyscall", xp_syscall_open, open_fields, "a call that had not returned at the end");

static const struct xp_field thread_fields[] = {
	XP_FIELD(xp_syscall_threads, name_pattern, STR, "thread name with each run of digits as one #; * holds the rest"),
	XP_FIELD(xp_syscall_threads, threads, U32, "threads of that pattern"),
	XP_FIELD(xp_syscall_threads, calls, U64, "calls they completed"),
	XP_FIELD(xp_syscall_threads, total_ns, U64, "time in these calls"),
};
static const struct xp_record thread_record = XP_RECORD("SyscallThreads", xp_syscall_threads, thread_fields, "threads of one name pattern");

static const struct xp_field inventory_fields[] = {
	XP_FIELD(xp_syscall_inventory, name, STR, "--name", .flags = XP_NULLABLE),
	XP_FIELD(xp_syscall_inventory, duration_ms, U64, "window asked for"),
	XP_FIELD_LIST(xp_syscall_inventory, groups, &group_record, "by total time falling, count falling, number"),
};
static const struct xp_record inventory_record =
	XP_RECORD("SyscallInventory", xp_syscall_inventory, inventory_fields, "completed calls of the window");

static const struct xp_field collection_fields[] = {
	XP_FIELD_ENUM(xp_syscall_collection, completeness, completeness_names, "complete: nothing dropped, no exit without its entry"),
	XP_FIELD(xp_syscall_collection, observed_entries, U64, "calls entered in the window"),
	XP_FIELD(xp_syscall_collection, matched_exits, U64, "of these ended in it; the sum of all groups"),
	XP_FIELD(xp_syscall_collection, unmatched_exits, U64,
		 "exits whose entry was not seen, such as calls that a seccomp filter refused"),
	XP_FIELD(xp_syscall_collection, inflight_at_end, U64, "calls open at the end"),
	XP_FIELD(xp_syscall_collection, dropped_aggregates, U64, "calls lost to a full table"),
	XP_FIELD(xp_syscall_collection, group_capacity, U64, "different calls that can be kept"),
	XP_FIELD(xp_syscall_collection, groups, U64, "different calls seen"),
	XP_FIELD(xp_syscall_collection, table_utilization, F64, "groups / group_capacity"),
	XP_FIELD(xp_syscall_collection, open_at_start, U64, "calls open when the window began"),
	XP_FIELD(xp_syscall_collection, open_at_start_still_open, U64, "of these still open at the end"),
	XP_FIELD(xp_syscall_collection, groups_listed, U64, "groups in this document; all are in the artifact"),
	XP_FIELD(xp_syscall_collection, no_return_calls, U64, "exit, exit_group, and calls in which a thread was killed"),
	XP_FIELD(xp_syscall_collection, own_probe_calls, U64, "calls that the kernel makes for probes; in no group"),
	XP_FIELD(xp_syscall_collection, window_ns, U64, "length of the window"),
	XP_FIELD_LIST(xp_syscall_collection, sources, &xp_account_record, "where every record of each source went"),
};
static const struct xp_record collection_record =
	XP_RECORD("SyscallCollection", xp_syscall_collection, collection_fields,
		  "observed_entries = matched_exits + inflight_at_end - open_at_start_still_open + no_return_calls + dropped_aggregates");

#define HEAD(label, member, K, text, ...) XP_FIELD_AS(xp_syscalls, label, head.member, K, text, ##__VA_ARGS__)

static const struct xp_field fields[] = {
	XP_FIELD_CONST("schema_version", "2.0", "version of this record"),
	XP_FIELD_TRUE("ok", "always true"),
	HEAD("session_id", session_id, STR, "session that made it"),
	{ .name = "status",
	  .doc = "how the window ended",
	  .kind = XP_KIND_ENUM,
	  .offset = offsetof(struct xp_syscalls, head.status),
	  .names = xp_status_names,
	  .n_names = XP_STATUS_COUNT },
	{ .name = "target",
	  .doc = "the process",
	  .kind = XP_KIND_OBJ,
	  .offset = offsetof(struct xp_syscalls, head.target),
	  .sub = &xp_target_id_record },
	XP_FIELD_OBJ(xp_syscalls, inventory, &inventory_record, "completed calls"),
	XP_FIELD_LIST(xp_syscalls, open_at_end, &open_record,
		      "at most 64 calls that had not returned, oldest first; inflight_at_end counts all"),
	XP_FIELD_LIST(xp_syscalls, threads, &thread_record, "by thread name pattern, most time first"),
	XP_FIELD_OBJ(xp_syscalls, collection, &collection_record, "what was seen, kept and lost"),
	XP_FIELD_OBJ(xp_syscalls, quality, &xp_quality_record, "how far it can be trusted"),
	{ .name = "evidence",
	  .doc = "where the evidence is",
	  .kind = XP_KIND_OBJ,
	  .offset = offsetof(struct xp_syscalls, head.evidence),
	  .sub = &xp_evidence_record },
	{ .name = "cost",
	  .doc = "what it cost the target",
	  .kind = XP_KIND_PTR,
	  .flags = XP_NULLABLE,
	  .offset = offsetof(struct xp_syscalls, head.cost),
	  .sub = &xp_cost_record },
	{ .name = "warnings",
	  .doc = "what the reader must know",
	  .kind = XP_KIND_LIST,
	  .offset = offsetof(struct xp_syscalls, head.warnings),
	  .count_offset = offsetof(struct xp_syscalls, head.n_warnings),
	  .sub = &xp_warning_record },
};
const struct xp_record xp_syscalls_record =
	XP_RECORD("SyscallAggregateResult", xp_syscalls, fields, "system calls of one process in one window, summed up in the kernel");
