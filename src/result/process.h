/* SPDX-License-Identifier: Apache-2.0 */
/* ProcessReport of contract 10.15 as a value. */
#ifndef XP_RESULT_PROCESS_H
#define XP_RESULT_PROCESS_H

#include "result/capability.h"
#include "target/program.h"
#include "target/status.h"

struct xp_credentials {
	uint32_t real_uid, effective_uid, saved_uid, filesystem_uid, real_gid, effective_gid, saved_gid, filesystem_gid;
};

struct xp_process_cuda {
	bool libcuda_loaded, libcudart_loaded, xprobe_agent_loaded;
	struct xp_check context;
};

struct xp_process_report {
	struct xp_target_id target;
	const char *executable;
	const char *const *command_line;
	size_t n_command_line;
	struct xp_credentials credentials;
	const uint32_t *namespace_pids;
	size_t n_namespace_pids;
	const char *mount_namespace;
	const struct xp_cgroup_line *cgroups;
	size_t n_cgroups;
	const char *const *loaded_libraries;
	size_t n_loaded_libraries;
	struct xp_process_cuda cuda;
	struct xp_capabilities capabilities;
	int libc; /* enum xp_libc */
	const char *machine;
	uint32_t threads;
	const char *state;
	uint32_t tracer_pid, seccomp;
	const char *python_version;
};
extern const struct xp_record xp_process_record; /* "ProcessReport" */

#endif
