/* SPDX-License-Identifier: Apache-2.0 */
/* --threads name~REGEX (contract 6.8): is there any thread that it means? */
#ifndef XP_INVENTORY_THREAD_FILTER_H
#define XP_INVENTORY_THREAD_FILTER_H

#include "inventory/inventory.h"

/* INVALID_EVENT_SELECTOR with the most frequent name patterns in details.candidates when no thread's name matches request->threads now. */
int xp_thread_filter_check(const struct xp_inventory_request *request, struct xp_target *target, struct xp_arena *arena,
			   struct xp_err *reterr);

#endif
