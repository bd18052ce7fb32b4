// SPDX-License-Identifier: Apache-2.0
/* Devices, their MIG instances and the processes on them, inside the child. In: loaded calls. Out: driver->list. */
#include <stdlib.h>
#include <string.h>

#include "engine/nvml_priv.h"

/* A whole text of printable bytes; "" when the driver has none. */
static bool read_text(int (*call)(void *, char *, unsigned), void *device, char *ret_text)
{
	char text[NV_TEXT] = "";

	if (!call || call(device, text, sizeof(text)))
		text[0] = '\0';
	text[sizeof(text) - 1] = '\0';
	for (const char *p = text; *p; p++)
		if (*p < ' ' || *p > '~')
			return false;
	memcpy(ret_text, text, sizeof(text));
	return true;
}

static void list_migs(struct xp_nvml_driver *driver, uint32_t i)
{
	const struct nv_calls *call = &driver->call;
	struct xp_nvml_device *device = &driver->list.devices[i];
	unsigned mode = 0, pending, count = 0;

	device->mig = call->mig_mode && !call->mig_mode(driver->device[i], &mode, &pending) && mode == NV_MIG_ENABLED;
	if (!device->mig || !call->mig_count || !call->mig_by_index || call->mig_count(driver->device[i], &count))
		return;
	for (unsigned at = 0; at < count && device->n_migs < XP_NVML_MAX_MIG; at++) {
		struct xp_nvml_mig *mig = &device->migs[device->n_migs];
		void **handle = &driver->mig[i][device->n_migs];

		/* Instances that were not made leave holes in the numbering. */
		if (call->mig_by_index(driver->device[i], at, handle) || !read_text(call->uuid, *handle, mig->uuid) || !mig->uuid[0])
			continue;
		mig->gpu_instance = mig->compute_instance = (uint32_t)NV_NO_INSTANCE;
		if (call->gpu_instance)
			call->gpu_instance(*handle, &mig->gpu_instance);
		if (call->compute_instance)
			call->compute_instance(*handle, &mig->compute_instance);
		device->n_migs++;
	}
}

static void list_device(struct xp_nvml_driver *driver, uint32_t i)
{
	const struct nv_calls *call = &driver->call;
	struct xp_nvml_device *device = &driver->list.devices[i];
	unsigned minor;

	device->index = i;
	int status = call->by_index(i, &driver->device[i]);
	if (status) {
		xp_nvml_set_fault(&device->fault, XP_NVML_STATUS, status, "nvmlDeviceGetHandleByIndex_v2");
		return;
	}
	if (!read_text(call->uuid, driver->device[i], device->uuid) || !device->uuid[0]) {
		xp_nvml_set_fault(&device->fault, XP_NVML_NONSENSE, 0, "nvmlDeviceGetUUID");
		return;
	}
	if (!read_text(call->name, driver->device[i], device->name))
		device->name[0] = '\0';
	if (call->minor && !call->minor(driver->device[i], &minor))
		device->minor = (struct xp_opt_u32)XP_SOME(minor);
	list_migs(driver, i);
}

void xp_nvml_list_devices(struct xp_nvml_driver *driver)
{
	const struct nv_calls *call = &driver->call;
	unsigned count = 0;

	driver->listed = true;
	if (!call->count || !call->by_index) {
		xp_nvml_set_fault(&driver->fault, XP_NVML_NO_SYMBOL, 0,
				  call->count ? "nvmlDeviceGetHandleByIndex_v2" : "nvmlDeviceGetCount_v2");
		return;
	}
	int status = call->count(&count);
	if (status)
		xp_nvml_set_fault(&driver->fault, XP_NVML_STATUS, status, "nvmlDeviceGetCount_v2");
	else if (count > 4096) /* more than any machine has */
		xp_nvml_set_fault(&driver->fault, XP_NVML_NONSENSE, 0, "nvmlDeviceGetCount_v2");
	if (driver->fault.kind)
		return;
	driver->list.n_devices = count < XP_NVML_MAX_DEVICES ? count : XP_NVML_MAX_DEVICES;
	driver->list.devices_lost = count - driver->list.n_devices;
	for (uint32_t i = 0; i < driver->list.n_devices; i++)
		list_device(driver, i);
}

static bool has(const struct xp_nvml_list *list, uint32_t device, uint32_t number)
{
	for (uint32_t i = 0; i < list->n_processes; i++)
		if (list->processes[i].device == device && list->processes[i].number == number)
			return true;
	return false;
}

static int32_t mig_of(const struct xp_nvml_device *device, const struct xp_nvml_entry *entry, int32_t asked)
{
	for (uint32_t i = 0; asked < 0 && i < device->n_migs; i++)
		if (device->migs[i].gpu_instance == entry->gpu_instance && device->migs[i].compute_instance == entry->compute_instance)
			return (int32_t)i;
	return asked;
}

/* `known`: entries whose process is on that device already are left out. */
static void add(struct xp_nvml_list *list, uint32_t device, int32_t mig, const struct xp_nvml_entry *entries, unsigned n, bool known)
{
	for (unsigned i = 0; i < n; i++) {
		if (known && has(list, device, entries[i].pid))
			continue;
		if (list->n_processes == XP_NVML_MAX_PROCESSES) {
			list->processes_lost++;
			continue;
		}
		struct xp_nvml_process *process = &list->processes[list->n_processes++];

		*process = (struct xp_nvml_process){ .device = device, .number = entries[i].pid };
		process->mig = mig_of(&list->devices[device], &entries[i], mig);
		if (entries[i].memory != ~0ull)
			process->memory = (struct xp_opt_u64)XP_SOME(entries[i].memory);
	}
}

static struct xp_nvml_fault ask(struct xp_nvml_driver *driver, uint32_t device, int32_t mig, bool mps)
{
	const struct nv_calls *call = &driver->call;
	void *handle = mig < 0 ? driver->device[device] : driver->mig[device][mig];
	int (*list)(void *, unsigned *, void *) = mps		       ? call->mps_processes_v3
						  : call->processes_v3 ? call->processes_v3
						  : call->processes_v2 ? call->processes_v2
								       : call->processes_v1;
	const char *symbol = mps		  ? "nvmlDeviceGetMPSComputeRunningProcesses_v3"
			     : call->processes_v3 ? "nvmlDeviceGetComputeRunningProcesses_v3"
			     : call->processes_v2 ? "nvmlDeviceGetComputeRunningProcesses_v2"
						  : "nvmlDeviceGetComputeRunningProcesses";
	struct xp_nvml_entry *entries = NULL;
	unsigned n = 0, lost = 0;
	struct xp_nvml_fault fault;

	if (!list) {
		xp_nvml_set_fault(&fault, XP_NVML_NO_SYMBOL, 0, symbol);
		return fault;
	}
	fault = xp_nvml_entries(list, symbol, handle, XP_NVML_MAX_PROCESSES, &entries, &n, &lost);
	if (!fault.kind) {
		add(&driver->list, device, mig, entries, n, mps || mig < 0);
		driver->list.processes_lost += lost;
	}
	free(entries);
	return fault;
}

/* Instances first: the list of the whole device may need rights that those of the instances don't. */
static void list_of_device(struct xp_nvml_driver *driver, uint32_t i)
{
	struct xp_nvml_device *device = &driver->list.devices[i];
	bool instances = device->n_migs > 0;

	for (uint32_t mig = 0; mig < device->n_migs; mig++)
		instances &= !ask(driver, i, (int32_t)mig, false).kind;
	device->list_fault = ask(driver, i, -1, false);
	if (device->list_fault.kind == XP_NVML_STATUS && instances)
		device->list_fault = (struct xp_nvml_fault){ .kind = XP_NVML_OK };
	/* Behind an MPS server the plain list names the server alone. No fault: most drivers have no MPS to tell of. */
	if (driver->call.mps_processes_v3)
		ask(driver, i, -1, true);
}

void xp_nvml_list_processes(struct xp_nvml_driver *driver)
{
	driver->list.n_processes = driver->list.processes_lost = 0;
	for (uint32_t i = 0; i < driver->list.n_devices; i++)
		if (!driver->list.devices[i].fault.kind)
			list_of_device(driver, i);
}
