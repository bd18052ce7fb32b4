// SPDX-License-Identifier: Apache-2.0
/* Loads NVML in the child. In: the loader's search path. Out: call pointers, or the fault of the whole library. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/nvml_priv.h"

void xp_nvml_set_fault(struct xp_nvml_fault *fault, enum xp_nvml_fault_kind kind, int status, const char *call)
{
	*fault = (struct xp_nvml_fault){ .kind = kind, .status = status };
	snprintf(fault->call, sizeof(fault->call), "%s", call);
}

static void look_up(void *library, struct nv_calls *call)
{
#define X(member, symbol, parameters) call->member = (int(*) parameters)dlsym(library, symbol);
	NV_CALLS(X)
#undef X
}

/* nvmlInitWithFlags(NO_ATTACH) would let idle GPUs sleep, but then nvmlDeviceGetCount_v2 counts none (seen with driver 580). */
static void initialise(struct xp_nvml_driver *driver)
{
	const struct nv_calls *call = &driver->call;
	const char *name = "nvmlInit_v2";

	if (!call->init) {
		xp_nvml_set_fault(&driver->fault, XP_NVML_NO_SYMBOL, 0, name);
		return;
	}
	int status = call->init();
	if (status)
		xp_nvml_set_fault(&driver->fault, XP_NVML_STATUS, status, name);
}

static void read_version(struct xp_nvml_driver *driver)
{
	char *text = driver->list.driver_version;

	if (!driver->call.driver_version || driver->call.driver_version(text, XP_NVML_TEXT))
		text[0] = '\0';
	text[XP_NVML_TEXT - 1] = '\0';
	driver->version = (unsigned)strtoul(text, NULL, 10);
}

/* The library stays loaded until the child ends: unloading is where some drivers hang. */
struct xp_nvml_driver *xp_nvml_load(void)
{
	struct xp_nvml_driver *driver = calloc(1, sizeof(*driver));
	void *library = dlopen(XP_NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!driver)
		return NULL;
	if (!library) {
		xp_nvml_set_fault(&driver->fault, XP_NVML_NO_LIBRARY, 0, "dlopen");
		return driver;
	}
	look_up(library, &driver->call);
	initialise(driver);
	if (!driver->fault.kind)
		read_version(driver);
	return driver;
}
