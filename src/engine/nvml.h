/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVML by dlopen, in a child process that is cut off when the driver hangs or crashes. Every call is optional: what a driver lacks is unset
 * and named. Numbers of processes are as NVML gives them; engine/gpu_holders.h ties them to processes.
 */
#ifndef XP_ENGINE_NVML_H
#define XP_ENGINE_NVML_H

#include "base/err.h"
#include "base/value.h"

enum { XP_NVML_MAX_DEVICES = 64, XP_NVML_MAX_MIG = 16, XP_NVML_MAX_PROCESSES = 8192, XP_NVML_TEXT = 96 };
#define XP_NVML_LIBRARY "libnvidia-ml.so.1"

/* Why a clock is below what it could be; idle and application clocks are no reasons. */
enum xp_clock_reason {
	XP_CLOCK_SW_POWER_CAP,
	XP_CLOCK_HW_SLOWDOWN,
	XP_CLOCK_SYNC_BOOST,
	XP_CLOCK_SW_THERMAL,
	XP_CLOCK_HW_THERMAL,
	XP_CLOCK_HW_POWER_BRAKE,
	XP_CLOCK_REASON_COUNT
};
extern const char *const xp_clock_reason_names[XP_CLOCK_REASON_COUNT];

/* A call that gave no answer. */
enum xp_nvml_fault_kind {
	XP_NVML_OK,
	XP_NVML_NO_LIBRARY,
	XP_NVML_NO_SYMBOL, /* `call` is not in this driver */
	XP_NVML_STATUS,	   /* `call` gave `status` */
	XP_NVML_HUNG,	   /* cut off at the deadline */
	XP_NVML_CRASHED,   /* the library ended the child */
	XP_NVML_NONSENSE,  /* `call` answered what cannot be */
};
struct xp_nvml_fault {
	int kind, status;
	char call[48];
};

/* One MIG instance of a device; `parts` of processes refer to it by position. */
struct xp_nvml_mig {
	char uuid[XP_NVML_TEXT];
	uint32_t gpu_instance, compute_instance;
};

struct xp_nvml_device {
	uint32_t index;
	char uuid[XP_NVML_TEXT], name[XP_NVML_TEXT]; /* name "": not known */
	struct xp_opt_u32 minor;		     /* of /dev/nvidia<minor> */
	bool mig;
	uint32_t n_migs;
	struct xp_nvml_mig migs[XP_NVML_MAX_MIG];
	struct xp_nvml_fault fault;	 /* the device itself gave no answer */
	struct xp_nvml_fault list_fault; /* its processes could not be listed */
};

struct xp_nvml_process {
	uint32_t device; /* position in devices */
	uint32_t number; /* process id, of whatever PID namespace the driver chose */
	int32_t mig;	 /* position in migs of the device, -1: none */
	struct xp_opt_u64 memory;
};

/* Devices and who holds a compute context on them. */
struct xp_nvml_list {
	char driver_version[XP_NVML_TEXT]; /* "": not known */
	uint32_t n_devices, devices_lost;  /* lost: beyond XP_NVML_MAX_DEVICES */
	uint32_t n_processes, processes_lost;
	struct xp_nvml_device devices[XP_NVML_MAX_DEVICES];
	struct xp_nvml_process processes[XP_NVML_MAX_PROCESSES];
};

/* The state of one device at one moment. Unset: this driver or device does not tell. */
struct xp_nvml_reading {
	uint64_t t_ns; /* CLOCK_MONOTONIC, when the counters were read */
	struct xp_nvml_fault fault;
	struct xp_opt_f64 utilization;		     /* 0..1 */
	struct xp_opt_u64 memory_used, memory_total; /* bytes */
	struct xp_opt_u64 power_mw, power_limit_mw;
	struct xp_opt_u32 temperature_c, sm_clock_mhz, sm_clock_max_mhz;
	struct xp_opt_u32 pcie_generation, pcie_generation_max, pcie_width, pcie_width_max;
	struct xp_opt_u64 ecc_uncorrected; /* since the driver was loaded */
	struct xp_opt_bool remap_pending;
	struct xp_opt_u32 reasons;			    /* bits 1 << enum xp_clock_reason, now */
	struct xp_opt_u64 reason_ns[XP_CLOCK_REASON_COUNT]; /* cumulative */
};
struct xp_nvml_readings {
	uint32_t n; /* as devices of the list */
	struct xp_nvml_reading at[XP_NVML_MAX_DEVICES];
};

struct xp_nvml;

/* Can the library be loaded? Nothing is initialised. False: *ret_fault says why not. */
bool xp_nvml_present(struct xp_nvml_fault *ret_fault);
/* Starts the child, which loads and initialises NVML; does not wait for it. Errors: of fork and pipe only. Returns owned. */
int xp_nvml_start(struct xp_nvml **ret_nvml, struct xp_err *reterr);
/* Kills the child. Accepts NULL. */
void xp_nvml_stop(struct xp_nvml *nvml);
XP_DEFINE_AUTO(struct xp_nvml *, xp_nvml_stop);

/* Asks for the list; does not wait. Once, before any reading. False: the child is gone. */
bool xp_nvml_ask_list(struct xp_nvml *nvml);
/* Waits for it, at most timeout_ms from now. False: *ret_fault says why; nothing more can be asked then. */
bool xp_nvml_take_list(struct xp_nvml *nvml, unsigned timeout_ms, struct xp_nvml_list *ret_list, struct xp_nvml_fault *ret_fault);
/* Asks for a reading of devices (bits by position in the list, after which it works); does not wait. full: also what hardly changes. */
bool xp_nvml_ask(struct xp_nvml *nvml, uint64_t devices, bool full);
/* Takes the oldest reading asked for, waiting at most timeout_ms (0: not at all). 1: taken, 0: none yet, -1: *ret_fault says why. */
int xp_nvml_take(struct xp_nvml *nvml, unsigned timeout_ms, struct xp_nvml_readings *ret_readings, struct xp_nvml_fault *ret_fault);
/* Readings asked for and not taken yet. */
unsigned xp_nvml_waiting(const struct xp_nvml *nvml);

#endif
