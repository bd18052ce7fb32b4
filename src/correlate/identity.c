/* SPDX-License-Identifier: Apache-2.0 */
/* Joins events without a start time to the process they belong to. In: events. State: a table by process index. */
#include "correlate/identity.h"

#include <stdlib.h>
#include <string.h>

void xp_identity_done(struct xp_identity *identity)
{
	free(identity->at);
	memset(identity, 0, sizeof(*identity));
}

/* Makes room for `n` entries and some more. */
static bool grow(struct xp_identity *identity, uint32_t n)
{
	uint32_t more = n + n / 2 + 16;
	struct xp_identity_entry *at = realloc(identity->at, more * sizeof(*at));

	if (!at)
		return false;
	memset(at + identity->n, 0, (more - identity->n) * sizeof(*at));
	identity->at = at;
	identity->n = more;
	return true;
}

bool xp_identity_add(struct xp_identity *identity, const struct xp_store *store, const struct xp_event *event)
{
	if (event->process >= identity->n && !grow(identity, event->process + 1u))
		return false;
	identity->at[event->process] = (struct xp_identity_entry){
		.pid = event->pid,
		.counts_as = event->process,
		.seen = true,
		.dated = xp_store_start_time(store, event->process).set,
	};
	return true;
}

static uint16_t only_dated(const struct xp_identity *identity, uint16_t undated)
{
	uint32_t found = undated, count = 0;

	for (uint32_t i = 0; i < identity->n; i++) {
		if (!identity->at[i].seen || !identity->at[i].dated || identity->at[i].pid != identity->at[undated].pid)
			continue;
		found = i;
		count++;
	}
	return (uint16_t)(count == 1 ? found : undated);
}

void xp_identity_join(struct xp_identity *identity)
{
	for (uint32_t i = 0; i < identity->n; i++)
		if (identity->at[i].seen && !identity->at[i].dated)
			identity->at[i].counts_as = only_dated(identity, (uint16_t)i);
}
