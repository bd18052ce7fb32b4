/* SPDX-License-Identifier: Apache-2.0 */
/* `summary` of a TriageResult: the numbers of each source, short. */
#ifndef XP_RESULT_TRIAGE_SUMMARY_H
#define XP_RESULT_TRIAGE_SUMMARY_H

#include "base/field.h"

struct xp_gpu_health;
struct xp_triage_cuda_copies;
struct xp_triage_cuda_kernels;
struct xp_thread_group;

struct xp_triage_top_thread {
	uint32_t tid;
	const char *name;
	uint64_t on_cpu_ns, runqueue_ns, blocked_ns;
	const char *state;
};

struct xp_triage_threads {
	uint32_t count, active, started, ended;
	uint64_t vanished_cpu_ns, on_cpu_ns, runqueue_ns, blocked_ns;
	uint64_t major_faults, voluntary_switches, involuntary_switches;
	const struct xp_triage_top_thread *top;
	size_t n_top;
	struct xp_thread_group *groups; /* of its own: the size budget folds them */
	size_t n_groups;
};

struct xp_triage_cgroup {
	int version;
	const char *path;
	uint32_t level;
	struct xp_opt_i64 quota_us;
	struct xp_opt_u64 period_us, throttled_ns, throttled_periods, periods;
	struct xp_opt_f64 cpus;
};

struct xp_triage_top_block {
	int reason; /* enum xp_block_reason */
	const char *syscall_name, *thread_name_pattern;
	const char *const *stack;
	size_t n_stack;
	uint64_t count, total_ns, max_ns;
};

struct xp_triage_off_cpu {
	uint64_t blocks, stacks_lost, blocked_ns;
	const struct xp_triage_top_block *top;
	size_t n_top;
};

struct xp_triage_top_syscall {
	const char *syscall_name; /* NULL: the number has no name */
	uint64_t count, errors, total_ns, max_ns;
};

struct xp_triage_syscalls {
	uint64_t calls, errors, interrupted, open_at_end;
	const struct xp_triage_top_syscall *top;
	size_t n_top;
};

struct xp_triage_top_function {
	const char *symbol, *module; /* module NULL: Python, kernel, or none */
	int kind;		     /* enum xp_frame_kind */
	double exclusive_proportion, inclusive_proportion;
	const char *source_path; /* Python only */
	struct xp_opt_u32 line;
};

struct xp_triage_cpu_samples {
	uint64_t observed;
	double expected;
	struct xp_opt_f64 coverage;
	int python_status; /* enum xp_python_status */
	const struct xp_triage_top_function *top;
	size_t n_top;
};

/* NULL: its source is unavailable. Members without a record are those of sources that no inventory feeds yet. */
struct xp_triage_summary {
	struct xp_triage_threads *threads;
	const struct xp_triage_cgroup *cgroup;
	struct xp_triage_cpu_samples *cpu_samples;
	struct xp_triage_off_cpu *off_cpu;
	struct xp_triage_syscalls *syscalls;
	struct xp_gpu_health *gpu;
	struct xp_triage_cuda_kernels *cuda_kernels;
	struct xp_triage_cuda_copies *cuda_copies;
};

#endif
