/* SPDX-License-Identifier: Apache-2.0 */
/* Field tables of ProcessReport. No state. */
#include "result/process.h"

#include "base/field_table.h"

static const struct xp_field credentials_fields[] = {
	XP_FIELD(xp_credentials, real_uid, U32, "user"),	 XP_FIELD(xp_credentials, effective_uid, U32, "user that rights follow"),
	XP_FIELD(xp_credentials, saved_uid, U32, "saved user"),	 XP_FIELD(xp_credentials, filesystem_uid, U32, "user for files"),
	XP_FIELD(xp_credentials, real_gid, U32, "group"),	 XP_FIELD(xp_credentials, effective_gid, U32, "group that rights follow"),
	XP_FIELD(xp_credentials, saved_gid, U32, "saved group"), XP_FIELD(xp_credentials, filesystem_gid, U32, "group for files"),
};
static const struct xp_record credentials_record = XP_RECORD("Credentials", xp_credentials, credentials_fields, "users and groups");

static const struct xp_field cgroup_fields[] = {
	XP_FIELD(xp_cgroup_line, hierarchy_id, U32, "0 for version 2"),
	XP_FIELD_STRS(xp_cgroup_line, controllers, "controllers of the hierarchy"),
	XP_FIELD(xp_cgroup_line, path, STR, "group, from the root of xprobe's cgroup namespace"),
};
static const struct xp_record cgroup_record = XP_RECORD("CgroupMembership", xp_cgroup_line, cgroup_fields, "one line of /proc/PID/cgroup");

static const struct xp_field context_fields[] = {
	XP_FIELD_ENUM(xp_check, status, xp_feature_status_names, "unknown unless an agent in the process says otherwise"),
	XP_FIELD(xp_check, detail, STR, "why", .flags = XP_NULLABLE | XP_OPTIONAL),
};
static const struct xp_record context_record = XP_RECORD("CudaContext", xp_check, context_fields, "does the process hold a CUDA context");

static const struct xp_field cuda_fields[] = {
	XP_FIELD(xp_process_cuda, libcuda_loaded, BOOL, "maps the driver's library"),
	XP_FIELD(xp_process_cuda, libcudart_loaded, BOOL, "maps the runtime library"),
	XP_FIELD(xp_process_cuda, xprobe_agent_loaded, BOOL, "maps xprobe's agent"),
	XP_FIELD_OBJ(xp_process_cuda, context, &context_record, "CUDA context"),
};
static const struct xp_record cuda_record = XP_RECORD("ProcessCuda", xp_process_cuda, cuda_fields, "CUDA in the process");

static const struct xp_field report_fields[] = {
	XP_FIELD_CONST("schema_version", "2.0", "version of this record"),
	XP_FIELD_TRUE("ok", "the report was made"),
	XP_FIELD_OBJ(xp_process_report, target, &xp_target_id_record, "which process"),
	XP_FIELD(xp_process_report, executable, STR, "path as the process sees it; empty for kernel threads"),
	XP_FIELD_STRS(xp_process_report, command_line, "arguments; secrets may be in them"),
	XP_FIELD_OBJ(xp_process_report, credentials, &credentials_record, "users and groups"),
	XP_FIELD_U32S(xp_process_report, namespace_pids, "ids by nested PID namespace, xprobe's own first"),
	XP_FIELD(xp_process_report, mount_namespace, STR, "mount namespace"),
	XP_FIELD_LIST(xp_process_report, cgroups, &cgroup_record, "control groups"),
	XP_FIELD_STRS(xp_process_report, loaded_libraries, "executable file mappings but the program itself, sorted"),
	XP_FIELD_OBJ(xp_process_report, cuda, &cuda_record, "CUDA in the process"),
	XP_FIELD_OBJ(xp_process_report, capabilities, &xp_capabilities_record, "what xprobe can do here"),
	XP_FIELD_ENUM(xp_process_report, libc, xp_libc_names, "C library"),
	XP_FIELD(xp_process_report, machine, STR, "machine type of the program"),
	XP_FIELD(xp_process_report, threads, U32, "threads now"),
	XP_FIELD(xp_process_report, state, STR, "state letter of the main thread"),
	XP_FIELD(xp_process_report, tracer_pid, U32, "who traces it; 0 = nobody"),
	XP_FIELD(xp_process_report, seccomp, U32, "0 none, 1 strict, 2 filter"),
	XP_FIELD(xp_process_report, python_version, STR, "CPython mapped; null: none", .flags = XP_NULLABLE),
};
const struct xp_record xp_process_record = XP_RECORD("ProcessReport", xp_process_report, report_fields, "what one process is");
