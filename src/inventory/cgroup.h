/* SPDX-License-Identifier: Apache-2.0 */
/* The value of inventory `cgroup`: CPU limits of the target's group and its ancestors, and how often they stopped it. */
#ifndef XP_INVENTORY_CGROUP_H
#define XP_INVENTORY_CGROUP_H

#include "base/field.h"

struct xp_cgroup_level {
	uint32_t level;		    /* 0: the target's own group; 1: its parent; ... */
	const char *path;	    /* as /proc/PID/cgroup counts paths */
	struct xp_opt_i64 quota_us; /* unset: no limit */
	struct xp_opt_u64 period_us;
	struct xp_opt_f64 cpus;					    /* quota / period */
	struct xp_opt_u64 throttled_ns, throttled_periods, periods; /* in the window; unset: the kernel does not report it */
};

struct xp_cgroup {
	int version;			      /* enum xp_cgroup_version */
	const char *path;		      /* of the target's own group */
	const char *directory;		      /* where its files were read */
	const char *note;		      /* what could not be seen, a sentence; NULL: everything was */
	bool moved;			      /* the target was in another group at the end */
	const struct xp_cgroup_level *levels; /* own group first, up to the mount's root */
	size_t n_levels;
	uint32_t chosen; /* index of the throttling, else the tightest level */
};
enum xp_cgroup_version { XP_CGROUP_V1 = 1, XP_CGROUP_V2 = 2 };
extern const struct xp_record xp_cgroup_record; /* "CgroupInventory" */

#endif
