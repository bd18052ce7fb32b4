/* SPDX-License-Identifier: Apache-2.0 */
/* Which process an event counts as, when some events carry no start time. */
#ifndef XP_CORRELATE_IDENTITY_H
#define XP_CORRELATE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "event/store.h"

struct xp_identity_entry {
	uint32_t pid;
	uint16_t counts_as;
	bool seen, dated;
};

/* By xp_event.process; zero-initialised is empty. */
struct xp_identity {
	struct xp_identity_entry *at;
	uint32_t n;
};
void xp_identity_done(struct xp_identity *identity);

/* Once for each event, in any order; then xp_identity_join. False: out of memory. */
bool xp_identity_add(struct xp_identity *identity, const struct xp_store *store, const struct xp_event *event);
static inline bool xp_identity_see(struct xp_identity *identity, const struct xp_store *store, const struct xp_event *event)
{
	bool known = event->process < identity->n && identity->at[event->process].seen;

	return known || xp_identity_add(identity, store, event);
}
/* An entry without a start time joins the only entry of its pid that has one (contract 9.1 rule 7). */
void xp_identity_join(struct xp_identity *identity);

#endif
