/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of uprobe selectors (contract 8.1). */
#ifndef XP_FAMILY_UPROBE_PARSE_H
#define XP_FAMILY_UPROBE_PARSE_H

#include "family/family.h"

#define XP_UPROBE_GRAMMAR "uprobe:PATH:(SYMBOL[@VERSION|@@VERSION]|symbol=FULL_NAME|+0xHEX):(entry|return)"

/* As struct xp_family's parse. */
int xp_uprobe_parse(const char *text, struct xp_arena *arena, struct xp_endpoint *ep, struct xp_err *reterr);

#endif
