/* SPDX-License-Identifier: Apache-2.0 */
/* From sums to the value of inventory `syscalls`. */
#ifndef XP_INVENTORY_SYSCALLS_BUILD_H
#define XP_INVENTORY_SYSCALLS_BUILD_H

#include "inventory/inventory.h"
#include "inventory/syscalls.h"
#include "inventory/syscalls_sum.h"

enum { XP_OPEN_LISTED = 64 };

/* Everything in the arena; the sum may be released afterwards. */
struct xp_syscalls *xp_syscalls_build(struct xp_syscalls_sum *sum, const struct xp_inventory_request *request,
				      const struct xp_window *window, struct xp_arena *arena);

#endif
