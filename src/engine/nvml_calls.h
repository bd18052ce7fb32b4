/* SPDX-License-Identifier: Apache-2.0 */
/* Every call of NVML that xprobe makes, by the names and parameters of nvml.h. */
#ifndef XP_ENGINE_NVML_CALLS_H
#define XP_ENGINE_NVML_CALLS_H

#include "engine/nvml_abi.h"

/* X(member, symbol, parameters); a symbol that a driver lacks leaves its member NULL. */
#define NV_CALLS(X)                                                                                      \
	X(init, "nvmlInit_v2", (void))                                                                   \
	X(driver_version, "nvmlSystemGetDriverVersion", (char *, unsigned))                              \
	X(count, "nvmlDeviceGetCount_v2", (unsigned *))                                                  \
	X(by_index, "nvmlDeviceGetHandleByIndex_v2", (unsigned, void **))                                \
	X(uuid, "nvmlDeviceGetUUID", (void *, char *, unsigned))                                         \
	X(name, "nvmlDeviceGetName", (void *, char *, unsigned))                                         \
	X(minor, "nvmlDeviceGetMinorNumber", (void *, unsigned *))                                       \
	X(mig_mode, "nvmlDeviceGetMigMode", (void *, unsigned *, unsigned *))                            \
	X(mig_count, "nvmlDeviceGetMaxMigDeviceCount", (void *, unsigned *))                             \
	X(mig_by_index, "nvmlDeviceGetMigDeviceHandleByIndex", (void *, unsigned, void **))              \
	X(gpu_instance, "nvmlDeviceGetGpuInstanceId", (void *, unsigned *))                              \
	X(compute_instance, "nvmlDeviceGetComputeInstanceId", (void *, unsigned *))                      \
	X(processes_v3, "nvmlDeviceGetComputeRunningProcesses_v3", (void *, unsigned *, void *))         \
	X(processes_v2, "nvmlDeviceGetComputeRunningProcesses_v2", (void *, unsigned *, void *))         \
	X(processes_v1, "nvmlDeviceGetComputeRunningProcesses", (void *, unsigned *, void *))            \
	X(mps_processes_v3, "nvmlDeviceGetMPSComputeRunningProcesses_v3", (void *, unsigned *, void *))  \
	X(utilization, "nvmlDeviceGetUtilizationRates", (void *, struct nv_utilization *))               \
	X(memory_v2, "nvmlDeviceGetMemoryInfo_v2", (void *, struct nv_memory_v2 *))                      \
	X(memory, "nvmlDeviceGetMemoryInfo", (void *, struct nv_memory *))                               \
	X(power, "nvmlDeviceGetPowerUsage", (void *, unsigned *))                                        \
	X(power_limit, "nvmlDeviceGetEnforcedPowerLimit", (void *, unsigned *))                          \
	X(temperature_v, "nvmlDeviceGetTemperatureV", (void *, struct nv_temperature_v1 *))              \
	X(temperature, "nvmlDeviceGetTemperature", (void *, unsigned, unsigned *))                       \
	X(clock, "nvmlDeviceGetClockInfo", (void *, unsigned, unsigned *))                               \
	X(clock_max, "nvmlDeviceGetMaxClockInfo", (void *, unsigned, unsigned *))                        \
	X(reasons, "nvmlDeviceGetCurrentClocksEventReasons", (void *, unsigned long long *))             \
	X(reasons_old, "nvmlDeviceGetCurrentClocksThrottleReasons", (void *, unsigned long long *))      \
	X(fields, "nvmlDeviceGetFieldValues", (void *, int, struct nv_field_value *))                    \
	X(pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration", (void *, unsigned *))                  \
	X(pcie_generation_max, "nvmlDeviceGetMaxPcieLinkGeneration", (void *, unsigned *))               \
	X(pcie_width, "nvmlDeviceGetCurrPcieLinkWidth", (void *, unsigned *))                            \
	X(pcie_width_max, "nvmlDeviceGetMaxPcieLinkWidth", (void *, unsigned *))                         \
	X(ecc_errors, "nvmlDeviceGetTotalEccErrors", (void *, unsigned, unsigned, unsigned long long *)) \
	X(remapped_rows, "nvmlDeviceGetRemappedRows", (void *, unsigned *, unsigned *, unsigned *, unsigned *))

struct nv_calls {
#define X(member, symbol, parameters) int(*member) parameters;
	NV_CALLS(X)
#undef X
};

#endif
