// SPDX-License-Identifier: Apache-2.0
/* Field tables of gpu.json and of the triage's short form of it. No state. */
#include "inventory/gpu_health.h"

#include "base/cleanup.h"

const char *const xp_gpu_use_names[XP_GPU_USE_COUNT] = {
	[XP_GPU_USE_NVML] = "nvml",
	[XP_GPU_USE_OPEN] = "device_open",
};
const char *const xp_clock_source_names[XP_CLOCK_SOURCE_COUNT] = {
	[XP_CLOCK_COUNTERS] = "counters",
	[XP_CLOCK_SNAPSHOTS] = "snapshots",
};

static const struct xp_field event_fields[] = {
	XP_FIELD(xp_gpu_clock_event, reason, STR, "sw_power_cap hw_slowdown sync_boost sw_thermal hw_thermal hw_power_brake"),
	XP_FIELD_ENUM(xp_gpu_clock_event, source, xp_clock_source_names, "counters of the driver, or share of the readings"),
	XP_FIELD(xp_gpu_clock_event, ns, U64, "time in span_ns that the reason held the clock down"),
	XP_FIELD(xp_gpu_clock_event, hits, U32, "readings that showed it"),
};
static const struct xp_record event_record = XP_RECORD("GpuClockEvent", xp_gpu_clock_event, event_fields, "why a clock was held down");

/* What the triage's summary and the artifact both tell of a device. */
#define DEVICE_FIELDS                                                                                                             \
	XP_FIELD(xp_gpu_device, index, U32, "as NVML counts devices"), XP_FIELD(xp_gpu_device, uuid, STR, "of the whole device"), \
		XP_FIELD(xp_gpu_device, name, STR, "product", .flags = XP_NULLABLE),                                              \
		XP_FIELD(xp_gpu_device, utilization, OPT_F64, "part of the time with a kernel, mean of the readings; null: MIG"), \
		XP_FIELD(xp_gpu_device, memory_used, OPT_U64, "bytes, the most seen"),                                            \
		XP_FIELD(xp_gpu_device, memory_total, OPT_U64, "bytes"),                                                          \
		XP_FIELD(xp_gpu_device, temperature_c, OPT_U32, "the highest seen"),                                              \
		XP_FIELD(xp_gpu_device, power_mw, OPT_U64, "mean of the readings"),                                               \
		XP_FIELD(xp_gpu_device, power_limit_mw, OPT_U64, "limit in force"),                                               \
		XP_FIELD(xp_gpu_device, sm_clock_mhz, OPT_U32, "mean of the readings"),                                           \
		XP_FIELD(xp_gpu_device, sm_clock_max_mhz, OPT_U32, "highest possible"),                                           \
		XP_FIELD_COUNTS(xp_gpu_device, clock_event_ns, "time in the window that each reason held the clock down"),        \
		XP_FIELD(xp_gpu_device, pcie_generation, OPT_U32, "highest seen; an idle GPU lowers it"),                         \
		XP_FIELD(xp_gpu_device, pcie_generation_max, OPT_U32, "highest possible in this machine"),                        \
		XP_FIELD(xp_gpu_device, pcie_width, OPT_U32, "lanes, the most seen"),                                             \
		XP_FIELD(xp_gpu_device, pcie_width_max, OPT_U32, "lanes, the most possible"),                                     \
		XP_FIELD(xp_gpu_device, ecc_uncorrected, OPT_U64, "errors since the driver was loaded; null: no ECC"),            \
		XP_FIELD(xp_gpu_device, remap_pending, OPT_BOOL, "a memory row waits for a reset to be replaced"),                \
		XP_FIELD(xp_gpu_device, mig, BOOL, "cut into instances"),                                                         \
		XP_FIELD(xp_gpu_device, process_memory, OPT_U64, "bytes of the target, by NVML")

static const struct xp_field summary_device_fields[] = { DEVICE_FIELDS };
static const struct xp_record summary_device_record =
	XP_RECORD("TriageGpuDevice", xp_gpu_device, summary_device_fields, "one GPU in numbers");

static const struct xp_field device_fields[] = {
	DEVICE_FIELDS,
	XP_FIELD_ENUM(xp_gpu_device, use, xp_gpu_use_names, "how the target's use of it is known; null: it is not", .flags = XP_NULLABLE),
	XP_FIELD(xp_gpu_device, readings, U32, "times that it was looked at"),
	XP_FIELD(xp_gpu_device, span_ns, U64, "between the first and the last reading"),
	XP_FIELD_LIST(xp_gpu_device, clock_events, &event_record, "every reason that the driver tells"),
	XP_FIELD(xp_gpu_device, ecc_uncorrected_new, OPT_U64, "uncorrected errors in the window"),
	XP_FIELD_STRS(xp_gpu_device, mig_uuids, "instances that the target uses"),
	XP_FIELD(xp_gpu_device, lost, BOOL, "it answered, then stopped to"),
	XP_FIELD(xp_gpu_device, note, STR, "what could not be read", .flags = XP_NULLABLE),
};
static const struct xp_record device_record = XP_RECORD("GpuDevice", xp_gpu_device, device_fields, "one GPU in the window");

static const struct xp_field fields[] = {
	XP_FIELD_CONST("schema_version", "3.0", "version of this record"),
	XP_FIELD(xp_gpu_health, driver_version, STR, "NVIDIA driver", .flags = XP_NULLABLE),
	XP_FIELD(xp_gpu_health, devices_seen, U32, "GPUs that NVML knows"),
	XP_FIELD(xp_gpu_health, use_known, BOOL, "false: every GPU is listed, since those that the target uses are not known"),
	XP_FIELD_LIST(xp_gpu_health, devices, &device_record, "GPUs that the target uses"),
	XP_FIELD(xp_gpu_health, readings_missed, U32, "readings that the driver was too slow for"),
};
const struct xp_record xp_gpu_health_record = XP_RECORD("GpuHealth", xp_gpu_health, fields, "state of the GPUs of a process");

static const struct xp_field summary_fields[] = {
	XP_FIELD_LIST(xp_gpu_health, devices, &summary_device_record, "GPUs that the target uses; all when that is not known"),
};
const struct xp_record xp_gpu_summary_record = XP_RECORD("TriageGpu", xp_gpu_health, summary_fields, "GPUs in numbers");
