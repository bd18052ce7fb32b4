/* SPDX-License-Identifier: Apache-2.0 */
/* Two readings of a group and its ancestors -> value of inventory `cgroup`. Pure. */
#ifndef XP_INVENTORY_CGROUP_BUILD_H
#define XP_INVENTORY_CGROUP_BUILD_H

#include "inventory/cgroup.h"
#include "inventory/cgroup_find.h"

enum { XP_CGROUP_MAX_LEVELS = 64 };

/* Readings at the window's start and end, own group first. */
struct xp_cgroup_readings {
	struct xp_cgroup_reading base[XP_CGROUP_MAX_LEVELS], end[XP_CGROUP_MAX_LEVELS];
	size_t n;
};

/* Directory of level i: i components off the end of place->directory, in the arena; NULL above the mount's root. */
char *xp_cgroup_level_directory(const struct xp_cgroup_place *place, size_t level, struct xp_arena *arena);
struct xp_cgroup *xp_cgroup_build(const struct xp_cgroup_place *place, const struct xp_cgroup_readings *readings, struct xp_arena *arena);

#endif
