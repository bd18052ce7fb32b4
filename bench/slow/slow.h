/* SPDX-License-Identifier: Apache-2.0 */
/* What the slow programs of the diagnosis benchmark share: work that costs CPU, a clock, and the line that says they run. */
#ifndef SLOW_H
#define SLOW_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void ready(void)
{
	puts("ready");
	fflush(stdout);
}

/* `rounds` steps of arithmetic that no compiler removes. */
static inline uint64_t grind(uint64_t seed, unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(seed));
	}
	return seed;
}

static inline void pause_us(unsigned us)
{
	struct timespec time = { .tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000 };

	nanosleep(&time, NULL);
}

#endif
