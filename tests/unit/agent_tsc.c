/* SPDX-License-Identifier: Apache-2.0 */
/* Lines from the time stamp counter to CLOCK_MONOTONIC: what they give, how far off they say they are, when they are given up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../agent/tsc.c"

enum { MS = 1000000, TICKS_A_MS = 2700000, TRIP_NS = 37 };

/* A machine whose counter makes 2.7 ticks a ns, and whose clock the kernel slews by so many ppm. */
static struct tsc_pair at_ms(uint64_t ms, int ppm)
{
	return (struct tsc_pair){
		.ticks = 1ull << 40 | ms * TICKS_A_MS,
		.ns = 5ull << 50 | (ms * MS + (uint64_t)((int64_t)ms * ppm)),
		.error_ns = TRIP_NS,
	};
}

static void tick(struct tsc *tsc, uint64_t ms, int ppm)
{
	struct tsc_pair pair = at_ms(ms, ppm);

	xp_agent_tsc_tick(tsc, &pair);
}

static void assert_near(const struct tsc *tsc, const struct tsc_pair *pair, uint64_t most_ns)
{
	uint64_t ns = 0;

	assert_true(xp_agent_tsc_convert(tsc, pair->ticks, &ns));
	assert_in_range(distance(ns, pair->ns), 0, most_ns);
}

static void converts_between_ticks(void **state)
{
	struct tsc tsc = { 0 };
	uint64_t ns = 0;

	xp_agent_tsc_begin(&tsc, true);
	for (uint64_t ms = 0; ms <= 5000; ms += 50) {
		tick(&tsc, ms, 3);
		assert_int_equal(xp_agent_tsc_convert(&tsc, at_ms(ms, 3).ticks, &ns), ms > 0);
		for (uint64_t later = ms; ms && later < ms + 50; later += 7) {
			struct tsc_pair pair = at_ms(later, 3);

			assert_near(&tsc, &pair, 2);
		}
	}
	assert_in_range(tsc.error_ns, LEAST_ERROR_NS, LEAST_ERROR_NS);
}

/* 100 ppm more from one tick on: 5 us in 50 ms. The next lines have it, and the error stays told. */
static void tells_how_far_a_slew_led_astray(void **state)
{
	struct tsc tsc = { 0 };
	struct tsc_pair pair;

	xp_agent_tsc_begin(&tsc, true);
	for (uint64_t ms = 0; ms <= 1000; ms += 50)
		tick(&tsc, ms, 0);
	for (uint64_t ms = 1050; ms <= 4000; ms += 50) {
		pair = at_ms(ms, 0);
		pair.ns += (ms - 1000) * 100;
		xp_agent_tsc_tick(&tsc, &pair);
	}
	assert_in_range(tsc.error_ns, 5000, 5000 + TRIP_NS + 2);
	pair = at_ms(4049, 0);
	pair.ns += 3049 * 100;
	assert_near(&tsc, &pair, 2);
}

static void gives_up_a_counter_that_jumps(void **state)
{
	struct tsc tsc = { 0 };
	struct tsc_pair pair;
	uint64_t ns = 0;

	xp_agent_tsc_begin(&tsc, true);
	tick(&tsc, 0, 0);
	tick(&tsc, 50, 0);
	pair = at_ms(100, 0);
	assert_true(xp_agent_tsc_convert(&tsc, pair.ticks, &ns));
	pair.ticks += TICKS_A_MS;
	xp_agent_tsc_tick(&tsc, &pair);
	assert_false(xp_agent_tsc_convert(&tsc, pair.ticks, &ns));
	assert_in_range(tsc.error_ns, MS, MS + TRIP_NS + 2);
	for (uint64_t ms = 150; ms < 1000; ms += 50)
		tick(&tsc, ms, 0);
	assert_false(xp_agent_tsc_convert(&tsc, at_ms(1000, 0).ticks, &ns));
	/* The next capture tries again, and knows nothing of this one. */
	xp_agent_tsc_begin(&tsc, true);
	assert_int_equal(tsc.error_ns, 0);
	tick(&tsc, 2000, 0);
	assert_false(xp_agent_tsc_convert(&tsc, at_ms(2000, 0).ticks, &ns));
	tick(&tsc, 2050, 0);
	pair = at_ms(2060, 0);
	assert_near(&tsc, &pair, 2);
}

static void falls_back(void **state)
{
	struct tsc tsc = { 0 };
	uint64_t ns = 0;

	xp_agent_tsc_begin(&tsc, false);
	tick(&tsc, 0, 0);
	tick(&tsc, 50, 0);
	assert_false(xp_agent_tsc_convert(&tsc, at_ms(60, 0).ticks, &ns));
	assert_int_equal(tsc.error_ns, 0);
	xp_agent_tsc_begin(&tsc, true);
	tick(&tsc, 0, 0);
	tick(&tsc, 10, 0); /* too soon for a rate */
	assert_false(xp_agent_tsc_convert(&tsc, at_ms(11, 0).ticks, &ns));
	tick(&tsc, 50, 0);
	assert_true(xp_agent_tsc_convert(&tsc, at_ms(60, 0).ticks, &ns));
	/* Readings before the line, as of a CPU that lags, and out of its reach. */
	assert_false(xp_agent_tsc_convert(&tsc, at_ms(50, 0).ticks - 1, &ns));
	assert_false(xp_agent_tsc_convert(&tsc, at_ms(50, 0).ticks + (1ull << TSC_REACH_BITS), &ns));
	tsc.sequence++; /* a writer half way */
	assert_false(xp_agent_tsc_convert(&tsc, at_ms(60, 0).ticks, &ns));
}

/* On this machine: whatever a line gives lies within what it says afterwards of its error. */
static void holds_its_word(void **state)
{
	struct tsc tsc = { 0 };
	uint64_t worst = 0, n = 0;

	xp_agent_tsc_begin(&tsc, xp_agent_tsc_possible());
	if (!tsc.possible)
		skip();
	for (unsigned i = 0; i < 400; i++) {
		struct timespec pause = { .tv_nsec = MS };
		struct tsc_pair pair;
		uint64_t ns = 0;

		nanosleep(&pause, NULL);
		pair = xp_agent_tsc_pair();
		if (xp_agent_tsc_convert(&tsc, pair.ticks, &ns)) {
			uint64_t off = distance(ns, pair.ns);

			worst = off > worst + pair.error_ns ? off - pair.error_ns : worst;
			n++;
		}
		if (i % 30 == 0)
			xp_agent_tsc_tick(&tsc, &pair);
	}
	print_message("%llu conversions, at most %llu ns off beyond the reading's own width; told: %llu ns\n", (unsigned long long)n,
		      (unsigned long long)worst, (unsigned long long)tsc.error_ns);
	assert_true(n > 300);
	assert_true(worst <= tsc.error_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(converts_between_ticks),
		cmocka_unit_test(tells_how_far_a_slew_led_astray),
		cmocka_unit_test(gives_up_a_counter_that_jumps),
		cmocka_unit_test(falls_back),
		cmocka_unit_test(holds_its_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
