/* SPDX-License-Identifier: Apache-2.0 */
/* A windowed summary that is only there to show that one file and one line add one. */
#include "inventory/inventory.h"

static int open_toy(const struct xp_inventory_request *request, struct xp_target *target, struct xp_arena *arena, void **ret_state,
		    struct xp_err *reterr)
{
	return xp_fail(reterr, XP_E_INTERNAL, "a toy measures nothing");
}

static int finish(void *state, const struct xp_window *window, struct xp_arena *arena, void **ret_value, struct xp_err *reterr)
{
	return xp_fail(reterr, XP_E_INTERNAL, "a toy measures nothing");
}

static void free_toy(void *state)
{
}

const struct xp_inventory_kind xp_inventory_toy = {
	.name = "toy",
	.summary = "measures nothing",
	.open = open_toy,
	.finish = finish,
	.free = free_toy,
};
