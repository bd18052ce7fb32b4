/* SPDX-License-Identifier: Apache-2.0 */
/* CapabilityReport of contract 10.12 as a value: what this machine and this user can do, as tried. */
#ifndef XP_RESULT_CAPABILITY_H
#define XP_RESULT_CAPABILITY_H

#include "base/note.h"
#include "target/rights.h"

/* True only when tried with success or, for CUDA, when every part is present. */
struct xp_capabilities {
	bool uprobe, uretprobe, tracepoint, cuda_callback, cuda_activity, runtime_injection;
};
extern const struct xp_record xp_capabilities_record; /* "Capabilities" */

struct xp_environment {
	const char *operating_system, *architecture, *kernel_release;
	uint32_t effective_uid;
	const char *container, *pid_namespace;
};

struct xp_check {
	int status; /* enum xp_feature_status */
	const char *detail;
};

struct xp_checks {
	struct xp_check btf, ebpf_permissions, kernel_lockdown, perf_event_paranoid, ptrace_scope, nvidia_driver, cuda_driver, cuda_toolkit,
		cupti;
};

struct xp_limits {
	struct xp_opt_u64 nofile_soft, nofile_hard, memlock_bytes, perf_mlock_kb, perf_max_sample_rate;
};

struct xp_probe_floors {
	struct xp_opt_u64 uprobe, uretprobe, syscall, sample;
};

struct xp_capability_report {
	struct xp_capabilities capabilities;
	struct xp_environment environment;
	struct xp_checks checks;
	struct xp_feature *features;
	size_t n_features;
	struct xp_limits limits;
	struct xp_probe_floors probe_floor_ns;
	const struct xp_warning *warnings;
	size_t n_warnings;
};
extern const struct xp_record xp_capability_record; /* "CapabilityReport" */

#endif
