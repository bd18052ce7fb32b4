// SPDX-License-Identifier: Apache-2.0
/* Field tables of threads.json. No state. */
#include "inventory/thread_time.h"

static const struct xp_field row_fields[] = {
	XP_FIELD(xp_thread_row, tid, U32, "thread id in xprobe's PID namespace"),
	XP_FIELD(xp_thread_row, name, STR, "name at the last look"),
	XP_FIELD(xp_thread_row, name_pattern, STR, "name with each run of digits as one #"),
	XP_FIELD(xp_thread_row, state, STR, "state letter of /proc at the last look", .flags = XP_NULLABLE),
	XP_FIELD(xp_thread_row, wall_ns, U64, "time between the thread's first and last reading"),
	XP_FIELD(xp_thread_row, on_cpu_ns, U64, "ran on a CPU"),
	XP_FIELD(xp_thread_row, runqueue_ns, U64, "could have run and waited for a CPU; CPU quotas count here too"),
	XP_FIELD(xp_thread_row, blocked_ns, U64, "neither: slept, waited for I/O or a lock, or was stopped"),
	XP_FIELD(xp_thread_row, waiting_ns, U64, "part of runqueue_ns that had not ended at the end of the window"),
	XP_FIELD(xp_thread_row, major_faults, U64, "page faults that read from a disk"),
	XP_FIELD(xp_thread_row, voluntary_switches, U64, "times it blocked"),
	XP_FIELD(xp_thread_row, involuntary_switches, U64, "times it was preempted"),
	XP_FIELD(xp_thread_row, started, BOOL, "seen to start in the window"),
	XP_FIELD(xp_thread_row, ended, BOOL, "seen to end in the window"),
	XP_FIELD(xp_thread_row, active, BOOL,
		 "on a CPU for 1 % of the window, or blocked and woken five times a second; never the agent's own thread"),
	XP_FIELD(xp_thread_row, cpus_allowed, STR, "CPUs it may run on", .flags = XP_NULLABLE),
	XP_FIELD(xp_thread_row, syscall_number, OPT_U32,
		 "of a thread that never moved: the syscall it sits in; null: it moved, or not readable"),
	XP_FIELD(xp_thread_row, wait_channel, STR, "of a thread that never moved: the kernel function it waits in", .flags = XP_NULLABLE),
};
static const struct xp_record row_record = XP_RECORD("ThreadTimeRow", xp_thread_row, row_fields, "one thread");

static const struct xp_field group_fields[] = {
	XP_FIELD(xp_thread_group, name_pattern, STR, "name pattern; * holds what is not among the largest"),
	XP_FIELD(xp_thread_group, threads, U32, "threads of that pattern"),
	XP_FIELD(xp_thread_group, on_cpu_ns, U64, "their sum"),
	XP_FIELD(xp_thread_group, runqueue_ns, U64, "their sum"),
	XP_FIELD(xp_thread_group, blocked_ns, U64, "their sum"),
};
const struct xp_record xp_thread_group_record = XP_RECORD("ThreadGroup", xp_thread_group, group_fields, "threads of one name pattern");

static const struct xp_field child_fields[] = {
	XP_FIELD(xp_child_row, pid, U32, "process id"),
	XP_FIELD(xp_child_row, parent_pid, U32, "its parent"),
	XP_FIELD(xp_child_row, name, STR, "name at the last look"),
	XP_FIELD(xp_child_row, on_cpu_ns, U64, "CPU time in the window; 0 when it ended before the end"),
	XP_FIELD(xp_child_row, started, BOOL, "started in the window"),
	XP_FIELD(xp_child_row, ended, BOOL, "ended in the window"),
};
static const struct xp_record child_record = XP_RECORD("ChildProcess", xp_child_row, child_fields, "a process below the target");

static const struct xp_field fields[] = {
	XP_FIELD_CONST("schema_version", "3.0", "version of this record"),
	XP_FIELD(xp_thread_time, window_ns, U64, "length of the window"),
	XP_FIELD(xp_thread_time, threads_pattern, STR, "--threads", .flags = XP_NULLABLE),
	XP_FIELD(xp_thread_time, count, U32, "threads seen"),
	XP_FIELD(xp_thread_time, active, U32, "of these active"),
	XP_FIELD(xp_thread_time, started, U32, "seen to start"),
	XP_FIELD(xp_thread_time, ended, U32, "seen to end"),
	XP_FIELD(xp_thread_time, process_cpu_ns, OPT_U64, "CPU time of the process by its own clock"),
	XP_FIELD(xp_thread_time, vanished_cpu_ns, U64,
		 "CPU time that no reading of a thread shows: threads that came and went between two readings"),
	XP_FIELD(xp_thread_time, on_cpu_ns, U64, "sum over threads"),
	XP_FIELD(xp_thread_time, runqueue_ns, U64, "sum over threads"),
	XP_FIELD(xp_thread_time, blocked_ns, U64, "sum over threads"),
	XP_FIELD(xp_thread_time, major_faults, U64, "page faults of the process that read from a disk"),
	XP_FIELD(xp_thread_time, voluntary_switches, U64, "sum over threads"),
	XP_FIELD(xp_thread_time, involuntary_switches, U64, "sum over threads"),
	XP_FIELD(xp_thread_time, runnable_at_end, U32, "threads in state R at the end"),
	XP_FIELD(xp_thread_time, cpus_allowed, STR, "CPUs that the main thread may run on", .flags = XP_NULLABLE),
	XP_FIELD(xp_thread_time, n_cpus_allowed, U32, "how many"),
	XP_FIELD(xp_thread_time, missed_threads, U64, "threads that found no place in the table"),
	XP_FIELD(xp_thread_time, sweeps, U64, "readings of all threads"),
	XP_FIELD(xp_thread_time, sweep_cpu_ns, U64, "CPU time of xprobe that they took"),
	XP_FIELD_LIST(xp_thread_time, threads, &row_record, "every thread, most on-CPU + run-queue time first"),
	XP_FIELD_LIST(xp_thread_time, groups, &xp_thread_group_record, "by name pattern"),
	XP_FIELD(xp_thread_time, children_cpu_ns, U64, "CPU time of all descendants"),
	XP_FIELD(xp_thread_time, children_total, U32, "descendants seen"),
	XP_FIELD(xp_thread_time, children_complete, BOOL, "false: there are more processes than the walk may read"),
	XP_FIELD_LIST(xp_thread_time, children, &child_record, "descendants, most CPU time first"),
};
const struct xp_record xp_thread_time_record =
	XP_RECORD("ThreadTime", xp_thread_time, fields, "where each thread's window went, as the scheduler counts it");
