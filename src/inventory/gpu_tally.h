/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of a device over a window -> its state in numbers. Pure. */
#ifndef XP_INVENTORY_GPU_TALLY_H
#define XP_INVENTORY_GPU_TALLY_H

#include "base/arena.h"
#include "engine/nvml.h"
#include "inventory/gpu_health.h"

struct xp_gpu_mean {
	double sum;
	uint32_t n;
	struct xp_opt_f64 first; /* reading at the window's start, which tells of the time before; used when there is no other */
};

/* What is kept of the readings of one device; zero-initialised is empty. */
struct xp_gpu_tally {
	uint32_t readings;
	struct xp_nvml_reading first, last; /* counters; `full` members as last seen */
	struct xp_gpu_mean utilization, power, clock;
	struct xp_opt_u64 memory_used; /* most */
	struct xp_opt_u32 temperature, generation, width;
	uint32_t reasons_seen, hits[XP_CLOCK_REASON_COUNT];
	struct xp_nvml_fault fault; /* the last one; the device may have answered before */
	bool lost;		    /* it answered, then stopped to */
};

/* Takes one reading, in the order of time. */
void xp_gpu_tally_add(struct xp_gpu_tally *tally, const struct xp_nvml_reading *reading);
/* The value, in the arena; members that NVML's list knows (uuid, use, process_memory) are the caller's to set. */
void xp_gpu_tally_build(const struct xp_gpu_tally *tally, uint64_t window_ns, struct xp_arena *arena, struct xp_gpu_device *ret_device);

#endif
