/* SPDX-License-Identifier: Apache-2.0 */
/* Which process an event counts as, when some events carry no start time. */
#ifndef XP_CORRELATE_IDENTITY_H
#define XP_CORRELATE_IDENTITY_H

#include "base/cleanup.h"
#include "event/store.h"

/* Fixed size, a byte more than all process indices; pages that no index touches cost nothing. */
struct xp_identity {
	uint32_t n; /* indices in use */
	struct {
		uint32_t pid;
		uint16_t counts_as;
		bool seen, dated;
	} at[UINT16_MAX + 1];
};

/* NULL: out of memory. */
struct xp_identity *xp_identity_new(void);
void xp_identity_free(struct xp_identity *identity);
XP_DEFINE_AUTO(struct xp_identity *, xp_identity_free);

/* Once for each event, in any order; then xp_identity_join. */
void xp_identity_add(struct xp_identity *identity, const struct xp_store *store, const struct xp_event *event);
static inline void xp_identity_see(struct xp_identity *identity, const struct xp_store *store, const struct xp_event *event)
{
	if (!identity->at[event->process].seen)
		xp_identity_add(identity, store, event);
}
/* An entry without a start time joins the only entry of its pid that has one (contract 9.1 rule 7). */
void xp_identity_join(struct xp_identity *identity);

#endif
