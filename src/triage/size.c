// SPDX-License-Identifier: Apache-2.0
/* Contract 14.2 in arithmetic. No state. */
#include "triage/size.h"

#include <math.h>

/* Seconds of the window's rate that a spec asks for, and how long events may arrive behind a poll and during the stop. */
#define SECONDS_WANTED 20.0
#define TAIL_SECONDS 0.25

static uint64_t clamped(double value, uint64_t low, uint64_t high)
{
	if (value <= (double)low)
		return low;
	return value >= (double)high ? high : (uint64_t)value;
}

static double rounded_up(double value, double step)
{
	return ceil(value / step) * step;
}

struct xp_spec_size xp_spec_size_of(double per_second)
{
	if (!isfinite(per_second) || per_second <= 0)
		return (struct xp_spec_size){ .samples = 100, .timeout_ms = 5000, .max_events = 100000, .duration_ms = XP_SOME(1000) };

	uint64_t samples = clamped(floor(per_second * SECONDS_WANTED), 1, 100);
	double expected_s = (double)samples / per_second;
	uint64_t timeout_ms = clamped(ceil(4000 * expected_s), 5000, 60000);
	double events = 2 * (double)samples * 1.5 + 2 * per_second * TAIL_SECONDS;

	return (struct xp_spec_size){
		.samples = samples,
		.timeout_ms = (uint64_t)rounded_up((double)timeout_ms, 1000),
		.max_events = clamped(rounded_up(events, 1000), 1000, 1000000),
	};
}

void xp_spec_size_apply(const struct xp_spec_size *size, struct xp_measurement_spec *spec)
{
	spec->samples = (struct xp_opt_u64)XP_SOME(size->samples);
	spec->duration_ms = size->duration_ms;
	spec->timeout_ms = size->timeout_ms;
	spec->max_events = (struct xp_opt_u64)XP_SOME(size->max_events);
}
