/* SPDX-License-Identifier: Apache-2.0 */
/* The value of inventory `gpu_health`: clocks, power, heat, links, memory and errors of the GPUs that the target uses. */
#ifndef XP_INVENTORY_GPU_HEALTH_H
#define XP_INVENTORY_GPU_HEALTH_H

#include "base/field.h"

/* How it is known that the target uses a device. OPEN: it holds the device file, which CUDA opens for every GPU that it may use. */
enum xp_gpu_use { XP_GPU_USE_NVML, XP_GPU_USE_OPEN, XP_GPU_USE_COUNT };
extern const char *const xp_gpu_use_names[XP_GPU_USE_COUNT];

/* Where clock_event_ns comes from: counters of the driver, or the share of readings that showed the reason. */
enum xp_clock_source { XP_CLOCK_COUNTERS, XP_CLOCK_SNAPSHOTS, XP_CLOCK_SOURCE_COUNT };
extern const char *const xp_clock_source_names[XP_CLOCK_SOURCE_COUNT];

/* One reason why a device ran below its clock. */
struct xp_gpu_clock_event {
	const char *reason; /* xp_clock_reason_names */
	int source;	    /* enum xp_clock_source */
	uint64_t ns;	    /* in span_ns of the device */
	uint32_t hits;	    /* readings that showed it */
};

struct xp_gpu_device {
	uint32_t index;
	const char *uuid, *name; /* name NULL: not told */
	int use;		 /* enum xp_gpu_use, -1: not known */
	uint32_t readings;
	uint64_t span_ns;				  /* between the first and the last reading */
	struct xp_opt_f64 utilization;			  /* mean of the readings, 0..1 */
	struct xp_opt_u64 memory_used, memory_total;	  /* used: the most seen */
	struct xp_opt_u32 temperature_c;		  /* the highest seen */
	struct xp_opt_u64 power_mw, power_limit_mw;	  /* power: mean */
	struct xp_opt_u32 sm_clock_mhz, sm_clock_max_mhz; /* clock: mean */
	const struct xp_gpu_clock_event *clock_events;	  /* every reason that is told, in a fixed order */
	size_t n_clock_events;
	struct xp_count *clock_event_ns; /* the same as {reason: ns} */
	size_t n_clock_event_ns;
	struct xp_opt_u32 pcie_generation, pcie_generation_max, pcie_width, pcie_width_max; /* the best seen */
	struct xp_opt_u64 ecc_uncorrected, ecc_uncorrected_new;				    /* since the driver was loaded; in the window */
	struct xp_opt_bool remap_pending;
	bool mig;
	const char *const *mig_uuids; /* instances that the target uses */
	size_t n_mig_uuids;
	struct xp_opt_u64 process_memory; /* the target's own */
	bool lost;			  /* it answered, then stopped to */
	const char *note;		  /* what could not be read, NULL: nothing */
};

struct xp_gpu_health {
	const char *driver_version; /* NULL: not told */
	uint32_t devices_seen;	    /* by NVML */
	bool use_known;		    /* false: every device is listed */
	const struct xp_gpu_device *devices;
	size_t n_devices;
	uint32_t readings_missed; /* asked for, but the driver was too slow */
};
extern const struct xp_record xp_gpu_health_record;  /* "GpuHealth", the artifact */
extern const struct xp_record xp_gpu_summary_record; /* "TriageGpu", `summary.gpu` of contract 10.11; the same struct */

#endif
