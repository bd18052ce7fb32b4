/* SPDX-License-Identifier: Apache-2.0 */
/* One window for several processes. */
#ifndef XP_COLLECT_TARGETS_H
#define XP_COLLECT_TARGETS_H

#include "collect/collector.h"

/* One process of a window, watched from arming on; all but `target` is filled by the window. */
struct xp_window_target {
	struct xp_target *target; /* borrowed */
	bool gone; /* it ended or became another process, before the window opened or in it; the window went on for the others */
	bool exec_seen;
	uint32_t children; /* as in struct xp_window */
	struct xp_cost cost;
	bool cpu_known;
	uint64_t cpu_base_ns, cpu_last_ns; /* its CPU clock at open, and as last read */
};

/*
 * As xp_window_run, for several targets: one window for all. It ends with XP_END_TARGET_GONE when none is left. The cost limit is kept for
 * all together, and for each one that used at least a tenth of a CPU: a share of next to nothing says nothing. ret_window->cost is the sum.
 */
int xp_window_run_all(struct xp_collector *collectors, size_t n, struct xp_window_target *targets, size_t n_targets,
		      const struct xp_window_bounds *bounds, struct xp_window *ret_window, struct xp_err *reterr);

#endif
