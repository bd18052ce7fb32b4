// SPDX-License-Identifier: Apache-2.0
/* Bounds of proposed specs, contract 14.2, the contract's own fsync example among them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "triage/size.h"

static void sizes_follow_the_rate(void **state)
{
	static const struct {
		double rate;
		uint64_t samples, timeout_ms, max_events;
	} rows[] = {
		{ 15.5, 100, 26000, 1000 },				  /* 31 fsync in 2 s */
		{ 0.1, 2, 60000, 1000 },				  /* 20 s expected, clamped */
		{ 0.01, 1, 60000, 1000 },    { 5, 100, 60000, 1000 },	  /* 20 s for 100 samples */
		{ 1000, 100, 5000, 1000 },				  /* 300 + 500 */
		{ 1401, 100, 5000, 2000 },				  /* 300 + 700.5 */
		{ 20000, 100, 5000, 11000 }, { 5e6, 100, 5000, 1000000 }, /* clamped */
	};

	for (size_t i = 0; i < XP_LEN(rows); i++) {
		struct xp_spec_size size = xp_spec_size_of(rows[i].rate);

		assert_int_equal(size.samples, rows[i].samples);
		assert_int_equal(size.timeout_ms, rows[i].timeout_ms);
		assert_int_equal(size.max_events, rows[i].max_events);
		assert_false(size.duration_ms.set);
	}
}

static void unknown_rates_are_bounded_by_time(void **state)
{
	const double rates[] = { 0, -1, NAN, INFINITY };

	for (size_t i = 0; i < XP_LEN(rates); i++) {
		struct xp_spec_size size = xp_spec_size_of(rates[i]);

		assert_int_equal(size.samples, 100);
		assert_int_equal(size.duration_ms.v, 1000);
		assert_int_equal(size.timeout_ms, 5000);
		assert_int_equal(size.max_events, 100000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(sizes_follow_the_rate), cmocka_unit_test(unknown_rates_are_bounded_by_time) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
