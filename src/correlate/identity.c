/* SPDX-License-Identifier: Apache-2.0 */
/* Joins events without a start time to the process they belong to. In: a store. Out: a table by process index. No state. */
#include "correlate/identity.h"

#include <stdlib.h>

struct process {
	bool seen, dated;
	uint32_t pid;
};

static void look(const struct xp_store *store, const struct xp_event *events, uint32_t n, struct process *processes)
{
	for (uint32_t i = 0; i < n; i++) {
		struct process *process = &processes[events[i].process];

		if (process->seen)
			continue;
		process->seen = true;
		process->pid = events[i].pid;
		process->dated = xp_store_start_time(store, events[i].process).set;
	}
}

static uint16_t joined(const struct process *processes, uint32_t n, uint32_t undated)
{
	uint32_t found = undated, count = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!processes[i].seen || !processes[i].dated || processes[i].pid != processes[undated].pid)
			continue;
		found = i;
		count++;
	}
	return (uint16_t)(count == 1 ? found : undated);
}

uint16_t *xp_identity_new(const struct xp_store *store, const struct xp_event *events, uint32_t n)
{
	uint32_t count = 1;

	for (uint32_t i = 0; i < n; i++)
		if (events[i].process >= count)
			count = events[i].process + 1u;
	uint16_t *identity = calloc(count, sizeof(*identity));
	struct process *processes = calloc(count, sizeof(*processes));
	if (!identity || !processes) {
		free(identity);
		free(processes);
		return NULL;
	}
	look(store, events, n, processes);
	for (uint32_t i = 0; i < count; i++)
		identity[i] = processes[i].seen && !processes[i].dated ? joined(processes, count, i) : (uint16_t)i;
	free(processes);
	return identity;
}

void xp_identity_free(uint16_t *identity)
{
	free(identity);
}
