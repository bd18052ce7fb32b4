/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record ring: many producers, one consumer (the tool). A place is reserved by moving head, filled, and published by its commit word.
 * A full ring turns records away; who writes counts them. State: head and tail in the shared file.
 */
#include "agent/ring.h"

#include <string.h>

#include "agent/work.h"

enum { PATIENCE_MS = 100, PAGE = 4096, WARM_BYTES = 4 << 20 };

bool xp_agent_ring_put(const struct xp_agent_slot *slot)
{
	uint64_t position;
	struct xp_agent_slot *place = xp_agent_ring_reserve(&position);

	if (!place)
		return false;
	memcpy(place, slot, __builtin_offsetof(struct xp_agent_slot, commit));
	xp_agent_ring_commit(place, position);
	return true;
}

/* A flush brings thousands of records at once: the tool, which reads every 10 ms, gets the time to take them. */
bool xp_agent_ring_put_slowly(const struct xp_agent_slot *slot)
{
	for (unsigned waited = 0; !xp_agent_ring_put(slot); waited++) {
		if (waited == PATIENCE_MS || xp_agent_lease_lost())
			return false;
		xp_agent_sleep_ms(1);
	}
	return true;
}

/*
 * Makes the pages that are written next, so that application threads do not fault them in, and no more than that: an idle ring stays small.
 * Adding nothing to a commit word makes the page and disturbs no producer.
 */
void xp_agent_ring_warm(void)
{
	uint64_t size = (xp_agent.ring_mask + 1ull) * sizeof(struct xp_agent_slot),
		 head = __atomic_load_n(&xp_agent.control->head, __ATOMIC_RELAXED) * sizeof(struct xp_agent_slot),
		 end = head + WARM_BYTES < size ? head + WARM_BYTES : size;

	for (; xp_agent.exact && xp_agent.warm_bytes < end; xp_agent.warm_bytes += PAGE) {
		struct xp_agent_slot *first = xp_agent_ring_at(xp_agent.warm_bytes / sizeof(struct xp_agent_slot));

		__atomic_fetch_add(&first->commit, 0, __ATOMIC_RELAXED);
	}
}
