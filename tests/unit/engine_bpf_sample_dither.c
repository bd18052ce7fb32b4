// SPDX-License-Identifier: Apache-2.0
/*
 * Fault: a clock of one period met a loop of the same length at one place for the whole window. Clocks are simulated between the calls that
 * set them: as many ticks as the frequency asks for, at no fixed phase, and never more owed than were there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <sys/ioctl.h>

static int set_clock(int fd, unsigned long request, const uint64_t *period_ns);
#define ioctl set_clock
#include "engine/bpf_sample_dither.c"

enum { READ_NS = 10000000, CLOCKS = 3, LOOP_PARTS = 10 };

/* The kernel's side of each clock. */
static struct {
	uint64_t period_ns, next_ns, ticks, sets;
	uint64_t in_part[LOOP_PARTS];
} kernel[CLOCKS];
static uint64_t now;

static int set_clock(int fd, unsigned long request, const uint64_t *period_ns)
{
	assert_int_equal(request, PERF_EVENT_IOC_PERIOD);
	assert_true(*period_ns > 10000);
	kernel[fd].period_ns = *period_ns;
	kernel[fd].next_ns = now + *period_ns;
	kernel[fd].sets++;
	return 0;
}

/* Ticks until `until_ns`, each at a part of a loop that takes loop_ns. */
static void run_clocks(uint64_t until_ns, uint64_t loop_ns)
{
	for (size_t i = 0; i < CLOCKS; i++)
		for (; kernel[i].next_ns <= until_ns; kernel[i].next_ns += kernel[i].period_ns) {
			kernel[i].ticks++;
			kernel[i].in_part[kernel[i].next_ns % loop_ns * LOOP_PARTS / loop_ns]++;
		}
	now = until_ns;
}

/* A window of `seconds`, read every 10 ms and, now and then, late by up to late_ns. */
static void simulate(uint32_t hz, unsigned seconds, uint64_t late_ns, uint64_t loop_ns)
{
	struct xp_sample_clock clocks[CLOCKS];
	struct xp_sampler sampler = {
		.config.frequency_hz = hz, .clocks = clocks, .n_clocks = CLOCKS, .n_clocks_open = CLOCKS, .draws = hz
	};
	uint64_t begin = now = 12345678901, ticks = 0, owed = 0;
	xp_auto_err err = { 0 };

	for (int i = 0; i < CLOCKS; i++) {
		clocks[i] = (struct xp_sample_clock){ .fd = i, .period_ns = 1000000000 / hz };
		kernel[i] =
			(typeof(kernel[i])){ .period_ns = clocks[i].period_ns, .next_ns = begin + clocks[i].period_ns / (unsigned)(i + 2) };
	}
	xp_sampler_clocks_begin(&sampler, begin);
	for (uint64_t turn = 0; now < begin + seconds * 1000000000ull; turn++) {
		run_clocks(now + READ_NS + (turn % 7 ? 0 : late_ns), loop_ns);
		assert_int_equal(xp_sampler_clocks_vary(&sampler, now, &err), 0);
	}
	for (size_t i = 0; i < CLOCKS; i++) {
		double due = (double)(now - begin) / 1e9 * hz;

		print_message("%u Hz, late %lu: %lu ticks of %.0f, set %lu times\n", hz, late_ns, kernel[i].ticks, due, kernel[i].sets);
		assert_true((double)kernel[i].ticks > due * 0.99 - 4 && (double)kernel[i].ticks < due * 1.01 + 4);
		assert_true(kernel[i].sets <= (now - begin) / 20000000 + 1);
		ticks += kernel[i].ticks;
	}
	owed = xp_sampler_clocks_owed(&sampler, now);
	assert_true(owed <= ticks && (double)owed > 0.9 * (double)ticks - 3 * CLOCKS);
}

static void as_many_ticks_as_asked_for(void **state)
{
	static const uint32_t rates[] = { 19, 99, 499, 999, 4999, 10000 };

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		simulate(rates[i], 10, 0, 1000000);
		simulate(rates[i], 10, 23000000, 1000000);
	}
}

/* Loops of one period, of half a period and of seven: each tenth of them is met by a tenth of the ticks. */
static void no_loop_is_in_step(void **state)
{
	static const double loops[] = { 1, 0.5, 7 };

	for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++) {
		simulate(997, 20, 3000000, (uint64_t)(loops[i] * 1000000000 / 997));
		for (size_t part = 0; part < LOOP_PARTS; part++) {
			uint64_t n = 0, all = 0;

			for (size_t clock = 0; clock < CLOCKS; clock++) {
				n += kernel[clock].in_part[part];
				all += kernel[clock].ticks;
			}
			assert_true((double)n > 0.08 * (double)all && (double)n < 0.12 * (double)all);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_ticks_as_asked_for),
		cmocka_unit_test(no_loop_is_in_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
