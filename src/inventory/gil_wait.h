/* SPDX-License-Identifier: Apache-2.0 */
/* Does a native stack wait for Python's global lock? */
#ifndef XP_INVENTORY_GIL_WAIT_H
#define XP_INVENTORY_GIL_WAIT_H

#include "elf/symbolize.h"

/*
 * Leaf first. True when `take_gil` waits; where the interpreter has no local symbols, when the interpreter itself waits for a condition:
 * CPython's own locks are semaphores, conditions are for the global lock alone (its pthread_cond layer for threads shows as PyThread_*).
 */
bool xp_is_gil_wait(const struct xp_symbolized *native, size_t n);

#endif
