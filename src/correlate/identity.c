/* SPDX-License-Identifier: Apache-2.0 */
/* Joins events without a start time to the process they belong to. In: events. State: a table by process index. */
#include "correlate/identity.h"

#include <stdlib.h>

struct xp_identity *xp_identity_new(void)
{
	return calloc(1, sizeof(struct xp_identity));
}

void xp_identity_free(struct xp_identity *identity)
{
	free(identity);
}

void xp_identity_add(struct xp_identity *identity, const struct xp_store *store, const struct xp_event *event)
{
	identity->at[event->process].seen = true;
	identity->at[event->process].pid = event->pid;
	identity->at[event->process].dated = xp_store_start_time(store, event->process).set;
	identity->at[event->process].counts_as = event->process;
	if (event->process >= identity->n)
		identity->n = event->process + 1u;
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
