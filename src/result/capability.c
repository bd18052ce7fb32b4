/* SPDX-License-Identifier: Apache-2.0 */
/* Field tables of CapabilityReport. No state. */
#include "result/capability.h"

#include "base/field_table.h"

static const struct xp_field capabilities_fields[] = {
	XP_FIELD(xp_capabilities, uprobe, BOOL, "a probe on a function could be attached"),
	XP_FIELD(xp_capabilities, uretprobe, BOOL, "a return probe could be attached"),
	XP_FIELD(xp_capabilities, tracepoint, BOOL, "a kernel tracepoint could be attached"),
	XP_FIELD(xp_capabilities, cuda_callback, BOOL, "driver, agent and CUPTI are present"),
	XP_FIELD(xp_capabilities, cuda_activity, BOOL, "driver, agent and CUPTI are present"),
	XP_FIELD(xp_capabilities, runtime_injection, BOOL, "a process could be stopped and resumed, and the agent's file is present"),
};
const struct xp_record xp_capabilities_record = XP_RECORD("Capabilities", xp_capabilities, capabilities_fields,
							  "what works; true only when tried, or for CUDA when every part is present");

static const struct xp_field environment_fields[] = {
	XP_FIELD(xp_environment, operating_system, STR, "name of the distribution"),
	XP_FIELD(xp_environment, architecture, STR, "machine type"),
	XP_FIELD(xp_environment, kernel_release, STR, "as uname -r"),
	XP_FIELD(xp_environment, effective_uid, U32, "user that xprobe runs as"),
	XP_FIELD(xp_environment, container, STR, "kind of container; null: none seen", .flags = XP_NULLABLE),
	XP_FIELD(xp_environment, pid_namespace, STR, "xprobe's own PID namespace"),
};
static const struct xp_record environment_record = XP_RECORD("Environment", xp_environment, environment_fields, "where xprobe runs");

static const struct xp_field check_fields[] = {
	XP_FIELD_ENUM(xp_check, status, xp_feature_status_names, "outcome"),
	XP_FIELD(xp_check, detail, STR, "what was found", .flags = XP_NULLABLE | XP_OPTIONAL),
};
static const struct xp_record check_record = XP_RECORD("Check", xp_check, check_fields, "one part of the machine");

static const struct xp_field checks_fields[] = {
	XP_FIELD_OBJ(xp_checks, btf, &check_record, "types of the running kernel"),
	XP_FIELD_OBJ(xp_checks, ebpf_permissions, &check_record, "loading and attaching BPF programs"),
	XP_FIELD_OBJ(xp_checks, kernel_lockdown, &check_record, "lockdown mode"),
	XP_FIELD_OBJ(xp_checks, perf_event_paranoid, &check_record, "kernel.perf_event_paranoid"),
	XP_FIELD_OBJ(xp_checks, ptrace_scope, &check_record, "kernel.yama.ptrace_scope"),
	XP_FIELD_OBJ(xp_checks, nvidia_driver, &check_record, "kernel module and NVML"),
	XP_FIELD_OBJ(xp_checks, cuda_driver, &check_record, "libcuda and its version"),
	XP_FIELD_OBJ(xp_checks, cuda_toolkit, &check_record, "CUDA toolkit on disk"),
	XP_FIELD_OBJ(xp_checks, cupti, &check_record, "libcupti on disk, each major with its path"),
};
static const struct xp_record checks_record = XP_RECORD("Checks", xp_checks, checks_fields, "the nine parts that decide");

static const struct xp_field limits_fields[] = {
	XP_FIELD(xp_limits, nofile_soft, OPT_U64, "open descriptors, soft"),
	XP_FIELD(xp_limits, nofile_hard, OPT_U64, "open descriptors, hard"),
	XP_FIELD(xp_limits, memlock_bytes, OPT_U64, "locked memory, soft; 2^64-1: unlimited"),
	XP_FIELD(xp_limits, perf_mlock_kb, OPT_U64, "kernel.perf_event_mlock_kb"),
	XP_FIELD(xp_limits, perf_max_sample_rate, OPT_U64, "kernel.perf_event_max_sample_rate"),
};
static const struct xp_record limits_record = XP_RECORD("Limits", xp_limits, limits_fields, "limits of the system; null: not readable");

static const struct xp_field floor_fields[] = {
	XP_FIELD(xp_probe_floors, uprobe, OPT_U64, "entry probe on an instruction that the kernel emulates"),
	XP_FIELD(xp_probe_floors, uretprobe, OPT_U64, "return probe on the same"),
	XP_FIELD(xp_probe_floors, syscall, OPT_U64, "entry and exit of one system call"),
	XP_FIELD(xp_probe_floors, sample, OPT_U64, "one timer sample"),
};
static const struct xp_record floor_record =
	XP_RECORD("ProbeFloors", xp_probe_floors, floor_fields,
		  "ns that one probe costs at least, measured now on xprobe itself; null: not possible");

static const struct xp_field report_fields[] = {
	XP_FIELD_CONST("schema_version", "2.0", "version of this record"),
	XP_FIELD_TRUE("ok", "the diagnosis completed, whatever it found"),
	XP_FIELD_OBJ(xp_capability_report, capabilities, &xp_capabilities_record, "what works"),
	XP_FIELD_OBJ(xp_capability_report, environment, &environment_record, "where xprobe runs"),
	XP_FIELD_OBJ(xp_capability_report, checks, &checks_record, "parts of the machine"),
	XP_FIELD_LIST(xp_capability_report, features, &xp_feature_record, "every feature, as tried"),
	XP_FIELD_OBJ(xp_capability_report, limits, &limits_record, "limits of the system"),
	XP_FIELD_OBJ(xp_capability_report, probe_floor_ns, &floor_record, "least cost of a probe"),
	XP_FIELD_LIST(xp_capability_report, warnings, &xp_warning_record, "summaries of failed checks"),
};
const struct xp_record xp_capability_record =
	XP_RECORD("CapabilityReport", xp_capability_report, report_fields, "what this machine and this user can do");
