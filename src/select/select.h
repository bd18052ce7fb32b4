/* SPDX-License-Identifier: Apache-2.0 */
/* Text to endpoint: finds the family that owns the selector's head and lets it parse the rest. */
#ifndef XP_SELECT_SELECT_H
#define XP_SELECT_SELECT_H

#include "family/family.h"

enum { XP_SELECTOR_MAX = 8192 };

/* Fills *ret_endpoint (text and names copied into the arena). INVALID_EVENT_SELECTOR with details.object = the selector. */
int xp_select_parse(const char *text, struct xp_arena *arena, struct xp_endpoint *ret_endpoint, struct xp_err *reterr);

#endif
