/* SPDX-License-Identifier: Apache-2.0 */
/* Contract 11: nearest rank, exact mean rounded once, exemplars in (latency, start) order, log2 histogram. */
#include <math.h>
#include <stdlib.h>

#include "capture.h"
#include "result/statistics.h"

static void nearest_rank(void **state)
{
	assert_int_equal(xp_nearest_rank(1, 50), 0);
	assert_int_equal(xp_nearest_rank(2, 50), 0); /* p50 of 2 is the 1st */
	assert_int_equal(xp_nearest_rank(3, 50), 1);
	assert_int_equal(xp_nearest_rank(100, 99), 98);
	assert_int_equal(xp_nearest_rank(101, 99), 99);
	assert_int_equal(xp_nearest_rank(10, 95), 9);
	assert_int_equal(xp_nearest_rank(20, 95), 18);
	assert_int_equal(xp_nearest_rank(7, 0), 0);
	assert_int_equal(xp_nearest_rank(7, 100), 6);
	assert_true(xp_nearest_rank(UINT64_MAX, 100) == UINT64_MAX - 1);
}

/* |d x n - sum| in units of 2^-shift, d = mantissa x 2^-shift. */
static unsigned __int128 miss(double d, unsigned __int128 sum, uint64_t n)
{
	enum { SHIFT = 20 };
	unsigned __int128 product = (unsigned __int128)(uint64_t)ldexp(d, SHIFT) * n, wanted = sum << SHIFT;

	return product > wanted ? product - wanted : wanted - product;
}

/* No neighbouring double is closer to the exact quotient; at a tie the even mantissa is taken. */
static void quotient_is_correctly_rounded(void **state)
{
	uint64_t seed = 88172645463325252u;

	for (int i = 0; i < 200000; i++) {
		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		uint64_t n = 1 + seed % 1000003;
		uint64_t mean = (1ull << 33) + (seed >> 29) % (1ull << 33); /* 53 bits reach down to 2^-19 */
		unsigned __int128 sum = (unsigned __int128)mean * n + seed % n;
		double d = xp_quotient(sum, n), below = nextafter(d, 0), above = nextafter(d, INFINITY);

		assert_true(miss(d, sum, n) <= miss(below, sum, n));
		assert_true(miss(d, sum, n) <= miss(above, sum, n));
	}
}

static void quotient_at_the_edges(void **state)
{
	unsigned __int128 big = (unsigned __int128)UINT64_MAX * UINT64_MAX;

	assert_true(xp_quotient(0, 7) == 0.0);
	assert_true(xp_quotient(1, 3) == 1.0 / 3);
	assert_true(xp_quotient(10, 4) == 2.5);
	assert_true(xp_quotient(big, UINT64_MAX) == 18446744073709551616.0);
	/* above 2^53 doubles are 2 apart: 2^53 + 1 and 2^53 + 3 are ties */
	unsigned __int128 two_54 = (unsigned __int128)1 << 54;
	assert_true(xp_quotient(two_54 + 2, 2) == 9007199254740992.0);
	assert_true(xp_quotient(two_54 + 6, 2) == 9007199254740996.0);
	assert_true(xp_quotient((two_54 + 2) * 1000 + 1, 2000) == 9007199254740994.0);
	assert_true(xp_quotient((two_54 + 2) * 1000 - 1, 2000) == 9007199254740992.0);
}

static const struct xp_statistics *statistics_of(const uint64_t *latencies, size_t n)
{
	static struct xp_statistics s;
	struct xp_event *events = calloc(2 * n, sizeof(*events));
	struct xp_pair *at = calloc(n, sizeof(*at));
	struct xp_pairs pairs = { .at = at, .n = n };
	struct xp_err err = { 0 };

	for (size_t i = 0; i < n; i++) {
		events[2 * i].t_ns = 1000 + i;
		events[2 * i + 1].t_ns = 1000 + i + latencies[i];
		at[i] = (struct xp_pair){ (uint32_t)(2 * i), (uint32_t)(2 * i + 1) };
	}
	assert_int_equal(xp_statistics_make(events, &pairs, &s, &err), 0);
	free(events);
	free(at);
	return &s;
}

static void percentiles_and_exemplars(void **state)
{
	static const uint64_t latencies[] = { 50, 10, 40, 20, 30, 60, 70, 80, 90, 100 };
	const struct xp_statistics *s = statistics_of(latencies, XP_LEN(latencies));

	assert_int_equal(s->latency.min, 10);
	assert_int_equal(s->latency.p50, 50);
	assert_int_equal(s->latency.p90, 90);
	assert_int_equal(s->latency.p95, 100);
	assert_int_equal(s->latency.p99, 100);
	assert_int_equal(s->latency.max, 100);
	assert_true(s->latency.mean == 55.0);
	assert_int_equal(s->exemplar[XP_RANK_MIN], 1);
	assert_int_equal(s->exemplar[XP_RANK_P50], 0);
	assert_int_equal(s->exemplar[XP_RANK_P90], 8);
	assert_int_equal(s->exemplar[XP_RANK_P99], 9);
	assert_int_equal(s->exemplar[XP_RANK_MAX], 9);
}

/* Equal latencies stand in order of their start; one pair may stand for every rank. */
static void ties_and_a_single_pair(void **state)
{
	static const uint64_t equal[] = { 7, 7, 7, 7 }, one[] = { 7 };
	const struct xp_statistics *s = statistics_of(equal, XP_LEN(equal));

	assert_int_equal(s->exemplar[XP_RANK_MIN], 0);
	assert_int_equal(s->exemplar[XP_RANK_P50], 1);
	assert_int_equal(s->exemplar[XP_RANK_MAX], 3);
	s = statistics_of(one, 1);
	for (unsigned i = 0; i < XP_RANK_COUNT; i++)
		assert_int_equal(s->exemplar[i], 0);
	assert_int_equal(s->latency.p99, 7);
}

static void histogram_buckets(void **state)
{
	static const uint64_t latencies[] = { 0, 1, 2, 3, 4, 1023, 1024, 1ull << 62 };
	const struct xp_histogram *h = &statistics_of(latencies, XP_LEN(latencies))->histogram;

	assert_int_equal(h->bucket[0], 2); /* 0 counts as 1 */
	assert_int_equal(h->bucket[1], 2);
	assert_int_equal(h->bucket[2], 1);
	assert_int_equal(h->bucket[9], 1);
	assert_int_equal(h->bucket[10], 1);
	assert_int_equal(h->bucket[62], 1);
}

/* nearest pairs an end before its start: the distance counts. */
static void distance_of_a_nearest_pair(void **state)
{
	struct xp_event events[2] = { { .t_ns = 90 }, { .t_ns = 100 } };
	struct xp_pair pair = { 1, 0 };

	assert_int_equal(xp_pair_latency(events, &pair), 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nearest_rank),
		cmocka_unit_test(quotient_is_correctly_rounded),
		cmocka_unit_test(quotient_at_the_edges),
		cmocka_unit_test(percentiles_and_exemplars),
		cmocka_unit_test(ties_and_a_single_pair),
		cmocka_unit_test(histogram_buckets),
		cmocka_unit_test(distance_of_a_nearest_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
