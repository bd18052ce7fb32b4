// SPDX-License-Identifier: Apache-2.0
/* Faults of NVML in words and codes. No state. */
#include "engine/nvml_status.h"

#include <stdio.h>

#include "engine/nvml_abi.h"

static const char *status_text(int status)
{
	static const struct {
		int status;
		const char *text;
	} rows[] = {
		{ NV_UNINITIALIZED, "not initialised" },
		{ NV_NOT_SUPPORTED, "not supported" },
		{ NV_NO_PERMISSION, "no permission" },
		{ NV_INSUFFICIENT_SIZE, "more entries than room" },
		{ NV_DRIVER_NOT_LOADED, "the driver is not loaded" },
		{ NV_TIMEOUT, "the driver timed out" },
		{ NV_GPU_IS_LOST, "the GPU is lost" },
		{ NV_RESET_REQUIRED, "the GPU needs a reset" },
		{ NV_OPERATING_SYSTEM, "blocked by the operating system" },
		{ 18, "library and kernel module are of different versions" },
	};

	for (size_t i = 0; i < XP_LEN(rows); i++)
		if (rows[i].status == status)
			return rows[i].text;
	return "see nvmlReturn_t";
}

int xp_nvml_fail(const struct xp_nvml_fault *fault, enum xp_err_code code, struct xp_err *reterr)
{
	xp_fail_call(reterr, code, 0, fault->call, XP_NVML_LIBRARY);
	switch ((enum xp_nvml_fault_kind)fault->kind) {
	case XP_NVML_NO_LIBRARY:
		xp_err_say(reterr, XP_NVML_LIBRARY " not found");
		xp_err_hint(reterr,
			    "install the NVIDIA driver; in a container, start it with the NVIDIA runtime and the utility capability");
		break;
	case XP_NVML_NO_SYMBOL:
		xp_err_say(reterr, XP_NVML_LIBRARY " has no %s", fault->call);
		break;
	case XP_NVML_STATUS:
		xp_err_say(reterr, "%s gave status %d: %s", fault->call, fault->status, status_text(fault->status));
		snprintf(reterr->errno_text, sizeof(reterr->errno_text), "%d", fault->status);
		break;
	case XP_NVML_HUNG:
		xp_err_say(reterr, XP_NVML_LIBRARY " did not answer in time and was cut off");
		break;
	case XP_NVML_CRASHED:
		xp_err_say(reterr, XP_NVML_LIBRARY " crashed the process that asked it");
		break;
	case XP_NVML_NONSENSE:
		xp_err_say(reterr, "%s of " XP_NVML_LIBRARY " answered what cannot be", fault->call);
		break;
	case XP_NVML_OK:
		xp_err_say(reterr, XP_NVML_LIBRARY " answered");
		break;
	}
	return -(int)code;
}

enum xp_err_code xp_nvml_fault_code(const struct xp_nvml_fault *fault)
{
	switch ((enum xp_nvml_fault_kind)fault->kind) {
	case XP_NVML_NO_LIBRARY:
		return XP_E_CUPTI_NOT_AVAILABLE;
	case XP_NVML_NO_SYMBOL:
		return XP_E_UNSUPPORTED_CUDA_VERSION;
	case XP_NVML_HUNG:
		return XP_E_SESSION_LIMIT_EXCEEDED;
	case XP_NVML_STATUS:
		break;
	case XP_NVML_CRASHED:
	case XP_NVML_NONSENSE:
	case XP_NVML_OK:
		return XP_E_INTERNAL;
	}
	switch (fault->status) {
	case NV_DRIVER_NOT_LOADED:
	case NV_LIBRARY_NOT_FOUND:
		return XP_E_CUPTI_NOT_AVAILABLE;
	case NV_NO_PERMISSION:
	case NV_OPERATING_SYSTEM:
		return XP_E_PERMISSION_DENIED;
	case NV_TIMEOUT:
		return XP_E_SESSION_LIMIT_EXCEEDED;
	case NV_NOT_SUPPORTED:
	case NV_FUNCTION_NOT_FOUND:
		return XP_E_UNSUPPORTED_CUDA_VERSION;
	default: /* the numbers are the driver's */
		return XP_E_INTERNAL;
	}
}
