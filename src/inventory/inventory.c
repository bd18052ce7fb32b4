/* SPDX-License-Identifier: Apache-2.0 */
/* The table of inventories. No state. */
#include "inventory/inventory.h"

#define XP_INVENTORY(name) extern const struct xp_inventory_kind xp_inventory_##name;
#include "inventory/inventory_list.def"
#undef XP_INVENTORY

static const struct xp_inventory_kind *const inventories[] = {
#define XP_INVENTORY(name) &xp_inventory_##name,
#include "inventory/inventory_list.def"
#undef XP_INVENTORY
	NULL,
};

const struct xp_inventory_kind *const *xp_inventories(size_t *ret_n)
{
	*ret_n = XP_LEN(inventories) - 1;
	return inventories;
}
