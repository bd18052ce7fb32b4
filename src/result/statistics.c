/* SPDX-License-Identifier: Apache-2.0 */
/* Percentiles, mean, exemplars and histogram of pairs (contract 11). In: pairs. Out: numbers. No state. */
#include "result/statistics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

const char *const xp_rank_names[XP_RANK_COUNT] = {
	[XP_RANK_MIN] = "min", [XP_RANK_P50] = "p50", [XP_RANK_P90] = "p90", [XP_RANK_P99] = "p99", [XP_RANK_MAX] = "max",
};

static const struct xp_field latency_fields[] = {
	XP_FIELD(xp_latency, min, U64, "shortest"),
	XP_FIELD(xp_latency, mean, F64, "exact sum / count, rounded once"),
	XP_FIELD(xp_latency, p50, U64, "median, nearest rank"),
	XP_FIELD(xp_latency, p90, U64, "90th percentile, nearest rank"),
	XP_FIELD(xp_latency, p95, U64, "95th percentile, nearest rank"),
	XP_FIELD(xp_latency, p99, U64, "99th percentile, nearest rank"),
	XP_FIELD(xp_latency, max, U64, "longest"),
};
const struct xp_record xp_latency_record = XP_RECORD("Latency", xp_latency, latency_fields, "durations in ns, contract 11");

/* One pair while it is sorted. */
struct sample {
	uint64_t latency;
	uint32_t pair;
};

uint64_t xp_pair_latency(const struct xp_event *events, const struct xp_pair *pair)
{
	uint64_t start = events[pair->start].t_ns, end = events[pair->end].t_ns;

	return end > start ? end - start : start - end;
}

uint64_t xp_nearest_rank(uint64_t n, unsigned percent)
{
	uint64_t rank = (uint64_t)(((unsigned __int128)n * percent + 99) / 100);

	return rank ? rank - 1 : 0;
}

static int bits_of(unsigned __int128 value)
{
	uint64_t high = (uint64_t)(value >> 64), low = (uint64_t)value;

	return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
}

/*
 * The quotient is made with at least two bits more than a double holds, and whatever remains is kept in its last bit, so that the one
 * conversion rounds as the exact value would be.
 */
double xp_quotient(unsigned __int128 sum, uint64_t n)
{
	int shift = 55 + bits_of(n) - bits_of(sum); /* the quotient gets 55 or 56 bits */

	if (shift < 0)
		shift = 0;
	sum <<= shift; /* at most 55 + 64 bits */
	uint64_t quotient = (uint64_t)(sum / n);
	if (sum % n)
		quotient |= 1;
	return ldexp((double)quotient, -shift);
}

static int by_latency(const void *left, const void *right)
{
	const struct sample *a = left, *b = right;

	if (a->latency != b->latency)
		return a->latency < b->latency ? -1 : 1;
	return a->pair < b->pair ? -1 : a->pair > b->pair; /* pairs are in order of (start time, start sequence) */
}

static void fill(const struct sample *samples, uint64_t n, unsigned __int128 sum, struct xp_statistics *ret_statistics)
{
	static const unsigned percents[XP_RANK_COUNT] = { [XP_RANK_P50] = 50, [XP_RANK_P90] = 90, [XP_RANK_P99] = 99, [XP_RANK_MAX] = 100 };

	ret_statistics->latency = (struct xp_latency){
		.min = samples[0].latency,
		.mean = xp_quotient(sum, n),
		.p50 = samples[xp_nearest_rank(n, 50)].latency,
		.p90 = samples[xp_nearest_rank(n, 90)].latency,
		.p95 = samples[xp_nearest_rank(n, 95)].latency,
		.p99 = samples[xp_nearest_rank(n, 99)].latency,
		.max = samples[n - 1].latency,
	};
	for (unsigned i = 0; i < XP_RANK_COUNT; i++)
		ret_statistics->exemplar[i] = samples[xp_nearest_rank(n, percents[i])].pair;
}

int xp_statistics_make(const struct xp_event *events, const struct xp_pairs *pairs, struct xp_statistics *ret_statistics,
		       struct xp_err *reterr)
{
	struct sample *samples = malloc(pairs->n * sizeof(*samples));
	struct xp_statistics made = { 0 };
	unsigned __int128 sum = 0;

	if (!samples)
		return xp_fail_sys(reterr, ENOMEM, "malloc", "statistics of %llu pairs", (unsigned long long)pairs->n);
	for (uint64_t i = 0; i < pairs->n; i++) {
		uint64_t latency = xp_pair_latency(events, &pairs->at[i]);

		samples[i] = (struct sample){ latency, (uint32_t)i };
		made.histogram.bucket[bits_of(latency | 1) - 1]++;
		sum += latency;
	}
	qsort(samples, pairs->n, sizeof(*samples), by_latency);
	fill(samples, pairs->n, sum, &made);
	free(samples);
	*ret_statistics = made;
	return 0;
}
