/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time of each thread of a process between two readings of the scheduler's own counts. */
#ifndef XP_INVENTORY_CPU_TIMES_H
#define XP_INVENTORY_CPU_TIMES_H

#include "base/hash.h"
#include "inventory/cpu_build.h"

/* Zero-initialised; release with xp_cpu_times_done. */
struct xp_cpu_times {
	struct xp_map base; /* tid -> ns at the start */
};
void xp_cpu_times_done(struct xp_cpu_times *times);
/* Reading that fails leaves a thread out: it is accounted by its samples then. */
void xp_cpu_times_begin(struct xp_cpu_times *times, struct xp_target *target);
/* Threads alive now that ran since, in the arena. A thread that came since has its whole time here. */
const struct xp_cpu_time *xp_cpu_times_end(const struct xp_cpu_times *times, struct xp_target *target, struct xp_arena *arena,
					   size_t *ret_n);

#endif
