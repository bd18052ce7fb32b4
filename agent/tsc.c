/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines from the time stamp counter to CLOCK_MONOTONIC. In: pairs of readings, one a tick. Out: the line that application threads use, its
 * largest error. The kernel slews its clock as it likes, so each line is judged at its end, and a bad one is the last.
 */
#include "agent/tsc.h"

#include <cpuid.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 9, INVARIANT = 1 << 8 };
#define NS_PER_S 1000000000ull
#define SHORTEST_NS 20000000ull /* that a rate is taken over */
#define REFRESH_NS 500000000ull /* after which the older pair is replaced */
#define MOST_ERROR_NS 10000ull	/* a line that was off by more: the counter is not used any more in this capture */
#define LEAST_ERROR_NS 100ull	/* the counter is read without waiting for the instructions before it */

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

bool xp_agent_tsc_possible(void)
{
	unsigned eax, ebx, ecx, edx = 0;
	char text[8] = "";
	int fd;

	if (!__get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) || !(edx & INVARIANT))
		return false;
	fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return !strcmp(text, "tsc\n");
}

static uint64_t ordered_ticks(void)
{
	uint64_t ticks;

	__builtin_ia32_lfence();
	ticks = __builtin_ia32_rdtsc();
	__builtin_ia32_lfence();
	return ticks;
}

/* The narrowest of a few: what a preemption lengthened is no use. The error is in ticks, which are no longer than ns. */
struct tsc_pair xp_agent_tsc_pair(void)
{
	struct tsc_pair best = { .error_ns = UINT64_MAX };

	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t before = ordered_ticks(), after;
		struct timespec now;

		clock_gettime(CLOCK_MONOTONIC, &now);
		after = ordered_ticks();
		if ((after - before) / 2 < best.error_ns)
			best = (struct tsc_pair){
				.ticks = before + (after - before) / 2,
				.ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec,
				.error_ns = (after - before) / 2,
			};
	}
	return best;
}

static void publish(struct tsc *tsc, const struct tsc_pair *pair, uint64_t mult)
{
	__atomic_store_n(&tsc->sequence, tsc->sequence + 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&tsc->mult, mult, __ATOMIC_SEQ_CST);
	__atomic_store_n(&tsc->from_ticks, pair->ticks, __ATOMIC_SEQ_CST);
	__atomic_store_n(&tsc->from_ns, pair->ns, __ATOMIC_SEQ_CST);
	__atomic_store_n(&tsc->sequence, tsc->sequence + 1, __ATOMIC_SEQ_CST);
}

void xp_agent_tsc_begin(struct tsc *tsc, bool possible)
{
	publish(tsc, &(struct tsc_pair){ 0 }, 0);
	tsc->possible = possible;
	tsc->pairs = 0;
	tsc->error_ns = 0;
}

/* Out of reach, threads ask the kernel: no line was used then, and there is none to judge. */
static bool judge(struct tsc *tsc, const struct tsc_pair *pair)
{
	uint64_t line_ns, error_ns;

	if (!tsc->mult)
		return true;
	line_ns = tsc->from_ns + (uint64_t)((unsigned __int128)(pair->ticks - tsc->from_ticks) * tsc->mult >> TSC_SHIFT);
	error_ns = distance(line_ns, pair->ns) + pair->error_ns;
	if (error_ns > tsc->error_ns)
		tsc->error_ns = error_ns;
	return error_ns <= MOST_ERROR_NS;
}

void xp_agent_tsc_tick(struct tsc *tsc, const struct tsc_pair *pair)
{
	if (!tsc->possible)
		return;
	if (!judge(tsc, pair)) {
		publish(tsc, pair, 0);
		tsc->possible = false;
		return;
	}
	if (!tsc->pairs++) {
		tsc->old = *pair;
		tsc->young = *pair;
		return;
	}
	if (pair->ns - tsc->old.ns < SHORTEST_NS || pair->ticks <= tsc->old.ticks)
		return;
	publish(tsc, pair,
		(uint64_t)((double)(pair->ns - tsc->old.ns) / (double)(pair->ticks - tsc->old.ticks) * (double)(1ull << TSC_SHIFT)));
	if (tsc->error_ns < LEAST_ERROR_NS)
		tsc->error_ns = LEAST_ERROR_NS;
	if (pair->ns - tsc->young.ns >= REFRESH_NS) {
		tsc->old = tsc->young;
		tsc->young = *pair;
	}
}
