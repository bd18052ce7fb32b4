/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a set of durations, contract 11. */
#ifndef XP_RESULT_STATISTICS_H
#define XP_RESULT_STATISTICS_H

#include "correlate/correlate.h"

/* Contract 10.3 `measurement.latency_ns`. */
struct xp_latency {
	uint64_t min;
	double mean;
	uint64_t p50, p90, p95, p99, max;
};
extern const struct xp_record xp_latency_record; /* "Latency" */

/* Ranks that get an exemplar, in this order. */
enum xp_rank { XP_RANK_MIN, XP_RANK_P50, XP_RANK_P90, XP_RANK_P99, XP_RANK_MAX, XP_RANK_COUNT };
extern const char *const xp_rank_names[XP_RANK_COUNT];

struct xp_statistics {
	struct xp_latency latency;
	uint32_t exemplar[XP_RANK_COUNT]; /* numbers of pairs */
	struct xp_histogram histogram;
};

/* Distance of the pair's events; end - start for every policy but nearest, where the end may come first. */
uint64_t xp_pair_latency(const struct xp_event *events, const struct xp_pair *pair);
/* The element for a percentile of n sorted ones, from 0: ceil(percent x n / 100) - 1. n > 0. */
uint64_t xp_nearest_rank(uint64_t n, unsigned percent);
/* sum / n, rounded once to the nearest double. n > 0, sum / n below 2^64. */
double xp_quotient(unsigned __int128 sum, uint64_t n);
/* Of at least one pair. RESOURCE_LIMIT when memory is short. */
int xp_statistics_make(const struct xp_event *events, const struct xp_pairs *pairs, struct xp_statistics *ret_statistics,
		       struct xp_err *reterr);

#endif
