/* SPDX-License-Identifier: Apache-2.0 */
/* The function that a uprobe selector names in a mapped file. */
#ifndef XP_FAMILY_UPROBE_SYMBOL_H
#define XP_FAMILY_UPROBE_SYMBOL_H

#include "elf/symbols.h"
#include "family/probe_file.h"

/*
 * By name, version or signature (contract 8.3). SYMBOL_NOT_FOUND with what is near, AMBIGUOUS_TARGET with +0x candidates, PROBE_REFUSED for
 * an IFUNC with the implementation that the target chose.
 */
int xp_uprobe_find_symbol(const struct xp_endpoint *ep, const struct xp_probe_file *file, struct xp_arena *arena,
			  struct xp_extent *ret_function, struct xp_err *reterr);
/* Refuses an IFUNC symbol, naming the implementation when the target's memory tells it. */
int xp_uprobe_refuse_ifunc(const struct xp_endpoint *ep, const struct xp_probe_file *file, const struct xp_symbol *symbol,
			   struct xp_err *reterr);

#endif
