/* SPDX-License-Identifier: Apache-2.0 */
/* Reserving and publishing a place of the record ring; inline, since callbacks on application threads do it twice a call. */
#ifndef XP_AGENT_RING_H
#define XP_AGENT_RING_H

#include "agent/agent.h"

enum { RING_AHEAD = 8 }; /* places fetched ahead of their use: about what one thread writes in two calls to CUDA */

static inline struct xp_agent_slot *xp_agent_ring_at(uint64_t position)
{
	return (struct xp_agent_slot *)(xp_agent.memory + XP_AGENT_DATA_OFFSET) + (position & xp_agent.ring_mask);
}

/* A line for writing, before it is needed: places are cold when their turn comes, and a locked instruction would wait for them. */
static inline void xp_agent_fetch(void *line)
{
	__asm__ volatile("prefetchw %0" : : "m"(*(char *)line));
}

/* The tool's own word is read only where the ring seems full: while it takes records, its line is on the way to the tool all the time. */
static inline bool xp_agent_ring_room(uint64_t head)
{
	uint64_t tail = __atomic_load_n(&xp_agent.control->tail, __ATOMIC_ACQUIRE);

	__atomic_store_n(&xp_agent.tail_seen.position, tail, __ATOMIC_RELEASE);
	/* A tail beyond head, which only a broken tool writes, reads as full. */
	return head - tail <= xp_agent.ring_mask;
}

/* The place, to be filled up to `commit`; NULL: the ring is full. */
static inline struct xp_agent_slot *xp_agent_ring_reserve(uint64_t *ret_position)
{
	struct xp_agent_control *control = xp_agent.control;
	__u64 head = __atomic_load_n(&control->head, __ATOMIC_RELAXED);
	struct xp_agent_slot *ahead;

	do {
		if (head - __atomic_load_n(&xp_agent.tail_seen.position, __ATOMIC_RELAXED) > xp_agent.ring_mask &&
		    !xp_agent_ring_room(head))
			return NULL;
	} while (!__atomic_compare_exchange_n(&control->head, &head, head + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	ahead = xp_agent_ring_at(head + RING_AHEAD);
	xp_agent_fetch(ahead);
	xp_agent_fetch((char *)ahead + sizeof(*ahead) / 2);
	*ret_position = head;
	return xp_agent_ring_at(head);
}

static inline void xp_agent_ring_commit(struct xp_agent_slot *place, uint64_t position)
{
	__atomic_store_n(&place->commit, position + 1, __ATOMIC_RELEASE);
}

#endif
