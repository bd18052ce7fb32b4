/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that run inside NVML's child share. */
#ifndef XP_ENGINE_NVML_PRIV_H
#define XP_ENGINE_NVML_PRIV_H

#include "engine/nvml.h"
#include "engine/nvml_calls.h"

/* State of the child. */
struct xp_nvml_driver {
	struct nv_calls call;
	struct xp_nvml_fault fault; /* NVML as a whole: kind XP_NVML_OK, or why nothing can be asked */
	bool listed;		    /* devices were looked up */
	unsigned version;	    /* first part of the driver's version; 0: not known */
	struct xp_nvml_list list;
	void *device[XP_NVML_MAX_DEVICES];
	void *mig[XP_NVML_MAX_DEVICES][XP_NVML_MAX_MIG];
};

/* Loads and initialises; what fails is in fault. Never NULL but for lack of memory. */
struct xp_nvml_driver *xp_nvml_load(void);
/* Devices, once, then their processes anew. */
void xp_nvml_list_devices(struct xp_nvml_driver *driver);
void xp_nvml_list_processes(struct xp_nvml_driver *driver);
/* One device's state; `full`: also what hardly changes. */
void xp_nvml_read_device(struct xp_nvml_driver *driver, uint32_t device, bool full, struct xp_nvml_reading *ret_reading);

void xp_nvml_set_fault(struct xp_nvml_fault *fault, enum xp_nvml_fault_kind kind, int status, const char *call);

/* Entries that one call gave, in one shape. */
struct xp_nvml_entry {
	uint32_t pid;
	uint64_t memory; /* all ones: not told */
	uint32_t gpu_instance, compute_instance;
};
/*
 * Calls one of the process lists with growing room. *ret_entries is owned (free), *ret_lost counts entries beyond `max`. Fault: status, or
 * nonsense when what was written fits no known shape of an entry.
 */
struct xp_nvml_fault xp_nvml_entries(int (*list)(void *, unsigned *, void *), const char *symbol, void *device, unsigned max,
				     struct xp_nvml_entry **ret_entries, unsigned *ret_n, unsigned *ret_lost);

#endif
