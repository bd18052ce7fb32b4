/* SPDX-License-Identifier: Apache-2.0 */
/* The pure step from sums and named stacks to struct xp_off_cpu_value. Everything that is returned lives in the arena. */
#ifndef XP_INVENTORY_OFF_CPU_BUILD_H
#define XP_INVENTORY_OFF_CPU_BUILD_H

#include "inventory/named_stacks.h"
#include "inventory/off_cpu.h"
#include "inventory/off_cpu_sum.h"

struct xp_off_cpu_value *xp_off_cpu_build(const struct xp_off_cpu_sum *sum, const struct xp_named_stacks *named,
					  const struct xp_sched_lost *lost, uint64_t max_groups, struct xp_arena *arena);

#endif
