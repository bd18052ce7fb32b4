/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CLOCK_MONOTONIC out of the time stamp counter, for application threads: a third of the price of clock_gettime. The agent's thread lays a
 * new line through both clocks at each tick and knows then how far off the last one was.
 */
#ifndef XP_AGENT_TSC_H
#define XP_AGENT_TSC_H

#include <stdbool.h>
#include <stdint.h>

enum { TSC_SHIFT = 32, TSC_REACH_BITS = 33 }; /* a line is used for 2^33 ticks, two to four seconds */

struct tsc_pair {
	uint64_t ticks, ns; /* at one moment, but for: */
	uint64_t error_ns;
};
struct tsc {
	uint32_t sequence;	      /* shared: odd while the line changes */
	uint64_t mult;		      /* shared: ns a tick << TSC_SHIFT; 0: the counter is not used */
	uint64_t from_ticks, from_ns; /* shared */
	/* Of the agent's thread: */
	bool possible;
	unsigned pairs;
	struct tsc_pair old, young; /* the rate is that since the old one, half a second to a second back */
	uint64_t error_ns;	    /* largest one of this capture; 0: the counter was not used */
} __attribute__((aligned(64)));	    /* what threads read is one line */

/* Forgets all lines. `possible`: what xp_agent_tsc_possible said. */
void xp_agent_tsc_begin(struct tsc *tsc, bool possible);
/* The counter runs at one rate on all CPUs, and the kernel makes its own clock of it. */
bool xp_agent_tsc_possible(void);
struct tsc_pair xp_agent_tsc_pair(void);
/* Judges the line in use by this pair, and lays the next one through it. */
void xp_agent_tsc_tick(struct tsc *tsc, const struct tsc_pair *pair);

/* False: not in use, just changing, or out of reach; then clock_gettime is to be asked. */
static inline bool xp_agent_tsc_convert(const struct tsc *tsc, uint64_t ticks, uint64_t *ret_ns)
{
	uint32_t sequence = __atomic_load_n(&tsc->sequence, __ATOMIC_ACQUIRE);
	uint64_t mult = __atomic_load_n(&tsc->mult, __ATOMIC_RELAXED), from_ns = __atomic_load_n(&tsc->from_ns, __ATOMIC_RELAXED),
		 passed = ticks - __atomic_load_n(&tsc->from_ticks, __ATOMIC_RELAXED);

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (!mult || sequence & 1 || passed >> TSC_REACH_BITS || __atomic_load_n(&tsc->sequence, __ATOMIC_RELAXED) != sequence)
		return false;
	*ret_ns = from_ns + (uint64_t)((unsigned __int128)passed * mult >> TSC_SHIFT);
	return true;
}

#endif
