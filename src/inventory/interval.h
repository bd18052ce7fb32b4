/* SPDX-License-Identifier: Apache-2.0 */
/* How far a sampled share may be off. */
#ifndef XP_INVENTORY_INTERVAL_H
#define XP_INVENTORY_INTERVAL_H

#include "base/field.h"

/* Wilson's 95 % interval of k of n; not set when n is 0. */
struct xp_interval xp_interval_95(uint64_t k, uint64_t n);

#endif
