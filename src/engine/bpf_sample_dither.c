/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Periods of the sampling clocks. In: running clocks. Out: the same, each set to another period every few ticks; how many ticks they owe.
 * A loop whose length is near a multiple of a fixed period would be met at the same few places for the whole window, and its shares would
 * be wrong by more than their interval says.
 */
#include <errno.h>
#include <sys/ioctl.h>

#include <linux/perf_event.h>

#include "base/hash.h"
#include "engine/bpf_sample_priv.h"

enum { TICKS = 4, TICKS_MORE = 4 }; /* of one period, the second number at random */
#define STRETCH_NS_MIN 20e6	    /* twice as long as the reader sleeps, or what a late one adds could not be made good */
#define SPREAD 0.25		    /* of a frequency: an eighth to either side */
#define NS_PER_SECOND 1e9

/* 0 to 1, another one at every call. */
static double draw(struct xp_sampler *sampler)
{
	return (double)(xp_hash_mix(++sampler->draws) >> 11) / (double)(1ull << 53);
}

/* At least: whether one more fell on an edge depends on where the clock stood. */
static uint64_t ticks_until(const struct xp_sample_clock *clock, uint64_t until_ns)
{
	return until_ns > clock->begun_ns ? (until_ns - clock->begun_ns) / clock->period_ns : 0;
}

/*
 * A clock that is set begins with a whole period, so half a tick more is planned than falls due on average. What a stretch gave too much or
 * too little is made good in the next one: at any time a clock has ticked as often as the frequency asks for, but for a few.
 */
static void plan(struct xp_sampler *sampler, struct xp_sample_clock *clock, uint64_t now_ns)
{
	double mean_ns = NS_PER_SECOND / sampler->config.frequency_hz, length_ns = (TICKS + draw(sampler) * TICKS_MORE) * mean_ns;
	uint64_t given = ticks_until(clock, now_ns);

	if (length_ns < STRETCH_NS_MIN)
		length_ns = STRETCH_NS_MIN * (1 + draw(sampler));
	double fair = length_ns / mean_ns, wanted = fair * (1 + SPREAD * (draw(sampler) - 0.5)) + 0.5;

	clock->owed += given;
	clock->debt += (double)(now_ns - clock->begun_ns) / mean_ns - (double)given;
	wanted += clock->debt;
	wanted = wanted < fair / 2 ? fair / 2 : wanted > fair * 2 ? fair * 2 : wanted;
	clock->period_ns = (uint64_t)(length_ns / wanted);
	clock->begun_ns = now_ns;
	clock->due_ns = now_ns + (uint64_t)length_ns;
}

void xp_sampler_clocks_begin(struct xp_sampler *sampler, uint64_t now_ns)
{
	for (size_t i = 0; i < sampler->n_clocks; i++)
		sampler->clocks[i].begun_ns = sampler->clocks[i].due_ns = now_ns;
}

int xp_sampler_clocks_vary(struct xp_sampler *sampler, uint64_t now_ns, struct xp_err *reterr)
{
	for (size_t i = 0; i < sampler->n_clocks_open; i++) {
		struct xp_sample_clock *clock = &sampler->clocks[i];

		if (now_ns < clock->due_ns)
			continue;
		plan(sampler, clock, now_ns);
		if (ioctl(clock->fd, PERF_EVENT_IOC_PERIOD, &clock->period_ns))
			return xp_bpf_fail(reterr, errno, "ioctl(PERF_EVENT_IOC_PERIOD)", "cpu-clock");
	}
	return 0;
}

uint64_t xp_sampler_clocks_owed(const struct xp_sampler *sampler, uint64_t until_ns)
{
	uint64_t owed = 0;

	for (size_t i = 0; i < sampler->n_clocks; i++)
		owed += sampler->clocks[i].owed + ticks_until(&sampler->clocks[i], until_ns);
	return owed;
}
