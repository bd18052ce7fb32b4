/* SPDX-License-Identifier: Apache-2.0 */
/* What CPU sampling is asked with, and the answer whether it can run (contract 10.2, 10.8). */
#ifndef XP_INVENTORY_CPU_SAMPLES_SPEC_H
#define XP_INVENTORY_CPU_SAMPLES_SPEC_H

#include "base/note.h"
#include "target/target.h"

struct xp_feature;
struct xp_plan_issue;

/* Contract 10.2. */
struct xp_cpu_spec {
	const char *name;
	struct xp_target_id target;
	int sample_event; /* always "cpu_clock" */
	uint64_t frequency_hz, duration_ms, timeout_ms, max_samples, max_groups, stack_depth, max_threads;
	struct xp_opt_bool off_cpu;
	struct xp_opt_u64 min_block_us;
	const char *threads; /* NULL: absent */
};
extern const struct xp_record xp_cpu_spec_record; /* "CpuSamplingSpec", closed */

struct xp_cpu_needs {
	bool target_mutation; /* always false */
};
struct xp_cpu_perf_event {
	int status; /* enum xp_feature_status */
	const char *detail;
};
struct xp_cpu_validation {
	bool valid;
	struct xp_target_id target;
	uint32_t target_threads;
	struct xp_cpu_needs requirements;
	struct xp_cpu_perf_event perf_event;
	int python_status; /* enum xp_python_status */
	bool kernel_frames;
	int sampler;			  /* enum xp_sampler_kind */
	const struct xp_feature *off_cpu; /* NULL: not asked for */
	const struct xp_plan_issue *issues;
	size_t n_issues;
	const struct xp_feature *features; /* those that are missing */
	size_t n_features;
	const struct xp_warning *warnings;
	size_t n_warnings;
};
extern const struct xp_record xp_cpu_validation_record; /* "CpuSamplingValidationResult" */

#endif
