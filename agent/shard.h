/* SPDX-License-Identifier: Apache-2.0 */
/* Counters and times of application threads, and the window that they look at. No lock, no system call. */
#ifndef XP_AGENT_SHARD_H
#define XP_AGENT_SHARD_H

#include "agent/agent.h"

/*
 * A thread counts in a line of its own, which it claims once and keeps, without locked instructions. Lines are never given back: a new
 * thread at the address of one that ended takes over its line. Threads that find none share the last one.
 */
static inline struct shard *xp_agent_shard(void)
{
	const uint64_t self = (uint64_t)xp_agent_self();
	/* Thread blocks lie a stack apart, so neighbours differ in these bits. */
	const uint64_t first = self >> 12;

	for (unsigned i = 0; i < AGENT_SHARD_TRIES; i++) {
		struct shard *shard = &xp_agent.shards[(first + i) % (AGENT_SHARDS - 1)];
		uint64_t owner = __atomic_load_n(&shard->owner, __ATOMIC_RELAXED);

		if (owner == self)
			return shard;
		if (!owner && __atomic_compare_exchange_n(&shard->owner, &owner, self, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return shard;
	}
	return &xp_agent.shards[AGENT_SHARDS - 1];
}

/* One instruction, so that a signal's handler on the same thread loses nothing. */
static inline void xp_agent_count(const struct shard *shard, uint64_t *counter)
{
	if (__builtin_expect(shard->owner != 0, 1))
		__asm__ volatile("incq %0" : "+m"(*counter));
	else
		__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* CLOCK_MONOTONIC, nearly; never before what this thread was told last, whichever way either came about. */
static inline uint64_t xp_agent_thread_now(struct shard *shard)
{
	uint64_t now_ns;

	if (__builtin_expect(!shard->owner, 0))
		return xp_agent_now();
	if (!xp_agent_tsc_convert(&xp_agent.tsc, __builtin_ia32_rdtsc(), &now_ns))
		now_ns = xp_agent_now();
	if (__builtin_expect(now_ns < shard->last_ns, 0))
		return shard->last_ns;
	shard->last_ns = now_ns;
	return now_ns;
}

static inline bool xp_agent_in_window(uint64_t now_ns)
{
	const struct xp_agent_lease *lease = &xp_agent.control->lease;
	uint64_t open_ns = __atomic_load_n(&lease->open_ns, __ATOMIC_RELAXED),
		 close_ns = __atomic_load_n(&lease->close_ns, __ATOMIC_RELAXED);

	return open_ns && now_ns >= open_ns && (!close_ns || now_ns < close_ns);
}

#endif
