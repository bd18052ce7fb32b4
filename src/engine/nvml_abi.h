/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of NVML's binary interface that xprobe calls, in own words. Source of every constant and layout: the public header nvml.h of
 * CUDA 13.0 (driver 580) and its older editions where one is named. All layouts are prefixes that never changed, unless a comment says so.
 */
#ifndef XP_ENGINE_NVML_ABI_H
#define XP_ENGINE_NVML_ABI_H

#include <stdint.h>

/* nvmlReturn_t */
enum {
	NV_SUCCESS = 0,
	NV_UNINITIALIZED = 1,
	NV_NOT_SUPPORTED = 3,
	NV_NO_PERMISSION = 4,
	NV_NOT_FOUND = 6,
	NV_INSUFFICIENT_SIZE = 7,
	NV_DRIVER_NOT_LOADED = 9,
	NV_TIMEOUT = 10,
	NV_LIBRARY_NOT_FOUND = 12,
	NV_FUNCTION_NOT_FOUND = 13,
	NV_GPU_IS_LOST = 15,
	NV_RESET_REQUIRED = 16,
	NV_OPERATING_SYSTEM = 17,
	NV_UNKNOWN = 999,
};

enum {
	NV_TEMPERATURE_GPU = 0,
	NV_CLOCK_SM = 1,
	NV_ERROR_UNCORRECTED = 1, /* nvmlMemoryErrorType_t */
	NV_ECC_VOLATILE = 0,	  /* nvmlEccCounterType_t: since the driver was loaded */
	NV_MIG_ENABLED = 1,
	NV_TEXT = 96, /* NVML_DEVICE_UUID_V2_BUFFER_SIZE, NVML_DEVICE_NAME_V2_BUFFER_SIZE */
	NV_NO_INSTANCE = -1,
	NV_MAX_PID = 4194304, /* PID_MAX_LIMIT of Linux */
};

/* Bits of nvmlDeviceGetCurrentClocksEventReasons, before 12.2 ...ThrottleReasons. */
enum {
	NV_REASON_SW_POWER_CAP = 0x4,
	NV_REASON_HW_SLOWDOWN = 0x8,
	NV_REASON_SYNC_BOOST = 0x10,
	NV_REASON_SW_THERMAL = 0x20,
	NV_REASON_HW_THERMAL = 0x40,
	NV_REASON_HW_POWER_BRAKE = 0x80,
};

/*
 * Field values: cumulative ns. The first three keep their meaning in every edition. The header of driver 570 called 251..253 what the one
 * of 580 calls 269..271, and gave 269..271 to power smoothing; so the latter are asked of driver 580 and newer only.
 */
enum {
	NV_FIELD_POWER = 74,	  /* PERF_POLICY_POWER = CLOCKS_EVENT_REASON_SW_POWER_CAP */
	NV_FIELD_THERMAL = 75,	  /* PERF_POLICY_THERMAL: software thermal slowdown */
	NV_FIELD_SYNC_BOOST = 76, /* PERF_POLICY_SYNC_BOOST */
	NV_FIELD_SW_THERMAL = 269,
	NV_FIELD_HW_THERMAL = 270,
	NV_FIELD_HW_POWER_BRAKE = 271,
	NV_FIELD_RENUMBERED_DRIVER = 580,
	NV_VALUE_U64 = 3, /* nvmlValueType_t: unsigned long long */
};

struct nv_utilization {
	uint32_t gpu, memory; /* percent */
};
struct nv_memory {
	uint64_t total, free, used; /* used: what the driver keeps for itself, too */
};
struct nv_memory_v2 {
	uint32_t version, pad;
	uint64_t total, reserved, free, used;
};
struct nv_temperature_v1 {
	uint32_t version, sensor;
	int32_t temperature;
};
struct nv_field_value {
	uint32_t field, scope;
	int64_t timestamp_us, latency_us;
	uint32_t value_type, status;
	union {
		uint64_t u64;
		double f64;
	} value;
};
_Static_assert(sizeof(struct nv_field_value) == 40, "nvmlFieldValue_t");
_Static_assert(sizeof(struct nv_memory_v2) == 40, "nvmlMemory_v2_t");
_Static_assert(sizeof(struct nv_temperature_v1) == 12, "nvmlTemperature_v1_t");
/* NVML_STRUCT_VERSION: size and number in one word. */
#define NV_VERSION(type, number) (sizeof(type) | (number) << 24)

/*
 * nvmlProcessInfo: {u32 pid, u64 used memory} of the calls without suffix; {.., u32 GPU instance, u32 compute instance} of _v2 and _v3. The
 * drivers 535.43 to 535.86 put a further u64 behind that in _v3 alone. Memory of all ones: not told; instance of all ones: no MIG.
 */
enum { NV_PROCESS_V1 = 16, NV_PROCESS_V2 = 24, NV_PROCESS_LONG = 32 };

#endif
