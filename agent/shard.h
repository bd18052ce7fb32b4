/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of application threads and the window that they look at. No lock, no system call. */
#ifndef XP_AGENT_SHARD_H
#define XP_AGENT_SHARD_H

#include "agent/agent.h"

/* Thread blocks lie a stack apart, so neighbours differ in these bits. */
static inline struct shard *xp_agent_shard(void)
{
	return &xp_agent.shards[((uintptr_t)xp_agent_self() >> 12) % AGENT_SHARDS];
}

static inline void xp_agent_count(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static inline bool xp_agent_in_window(uint64_t now_ns)
{
	const struct xp_agent_lease *lease = &xp_agent.control->lease;
	uint64_t open_ns = __atomic_load_n(&lease->open_ns, __ATOMIC_RELAXED),
		 close_ns = __atomic_load_n(&lease->close_ns, __ATOMIC_RELAXED);

	return open_ns && now_ns >= open_ns && (!close_ns || now_ns < close_ns);
}

#endif
