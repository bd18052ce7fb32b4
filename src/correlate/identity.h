/* SPDX-License-Identifier: Apache-2.0 */
/* Which process an event counts as, when some events carry no start time. */
#ifndef XP_CORRELATE_IDENTITY_H
#define XP_CORRELATE_IDENTITY_H

#include "base/cleanup.h"
#include "event/store.h"

/*
 * Returns owned: for each xp_event.process that occurs, the one it counts as. An entry without a start time joins the only entry of its
 * pid that has one (contract 9.1 rule 7). NULL: out of memory.
 */
uint16_t *xp_identity_new(const struct xp_store *store, const struct xp_event *events, uint32_t n);
void xp_identity_free(uint16_t *identity);
XP_DEFINE_AUTO(uint16_t *, xp_identity_free);

#endif
