/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record ring: many producers, one consumer (the tool). A place is reserved by moving head, filled, and published by its commit word.
 * A full ring turns records away; who writes counts them. State: head and tail in the shared file.
 */
#include "agent/work.h"

#include <string.h>

enum { PATIENCE_MS = 100 };

bool xp_agent_ring_put(const struct xp_agent_slot *slot)
{
	struct xp_agent_control *control = xp_agent.control;
	__u64 head = __atomic_load_n(&control->head, __ATOMIC_RELAXED);
	struct xp_agent_slot *place;

	do {
		/* A tail beyond head, which only a broken tool writes, reads as full. */
		if (head - __atomic_load_n(&control->tail, __ATOMIC_ACQUIRE) > xp_agent.ring_mask)
			return false;
	} while (!__atomic_compare_exchange_n(&control->head, &head, head + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	place = (struct xp_agent_slot *)(xp_agent.memory + XP_AGENT_DATA_OFFSET) + (head & xp_agent.ring_mask);
	memcpy(place, slot, __builtin_offsetof(struct xp_agent_slot, commit));
	__atomic_store_n(&place->commit, head + 1, __ATOMIC_RELEASE);
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
