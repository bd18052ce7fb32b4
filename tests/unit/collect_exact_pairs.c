/* SPDX-License-Identifier: Apache-2.0 */
/* Counting pairs while the window is open: the count of each policy, and that it is never above what correlation finds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "../../src/collect/exact_pairs.c"
#include "correlate/correlate.h"

enum { START = 1, END = 2, CALLS = 400 };

static struct xp_pair_counter counter_of(enum xp_policy_id policy, unsigned end)
{
	const struct xp_edge edge = { .start = 0, .end = end, .policy = policy };
	struct xp_pair_counter counter;

	xp_pair_counter_init(&counter, &edge);
	return counter;
}

static struct xp_event frame(uint32_t tid, uint32_t bits, uint64_t sp)
{
	return (struct xp_event){ .tid = tid, .endpoints = bits, .host.sp = sp, .flags = XP_EVF_HAS_SP };
}

static uint64_t take_frames(struct xp_pair_counter *counter, const struct xp_event *events, size_t n)
{
	for (size_t i = 0; i < n; i++)
		xp_pair_counter_take(counter, &events[i]);
	return counter->pairs;
}

static void frames(void **state)
{
	struct xp_pair_counter counter = counter_of(XP_POLICY_STACK_NESTED, 1);
	const struct xp_event events[] = {
		frame(1, END, 900),						  /* began before */
		frame(1, START, 900), frame(1, START, 800), frame(1, START, 700), /* 700 leaves by longjmp */
		frame(2, START, 800), frame(1, END, 800),   frame(1, END, 900),
		frame(2, END, 700), /* deeper than its start: not its end */
		frame(2, END, 800),
	};

	assert_int_equal(take_frames(&counter, events, XP_LEN(events)), 3);
	assert_int_equal(xp_pair_counter_open(&counter), 0);
	xp_pair_counter_done(&counter);
}

static void goroutines_move(void **state)
{
	struct xp_pair_counter counter = counter_of(XP_POLICY_STACK_NESTED, 1);
	struct xp_event events[] = { frame(1, START, 900), frame(2, START, 800), frame(3, END, 100), frame(1, END, 50) };

	for (size_t i = 0; i < XP_LEN(events); i++) {
		events[i].flags |= XP_EVF_GOROUTINE;
		events[i].host.key = i % 2 ? 0xc000001000 : 0xc000000000;
	}
	assert_int_equal(take_frames(&counter, events, XP_LEN(events)), 2);
	xp_pair_counter_done(&counter);
}

static struct xp_event call(uint32_t bits, int64_t result)
{
	return (struct xp_event){
		.tid = 7,
		.endpoints = bits,
		.type = bits & START ? XP_EV_SYSCALL_ENTRY : XP_EV_SYSCALL_EXIT,
		.host.result = result,
	};
}

static struct xp_event follower(uint32_t nr, enum xp_event_type type, int64_t result)
{
	return (struct xp_event){ .tid = 7, .flags = XP_EVF_CONTINUES, .type = (uint8_t)type, .syscall_nr = nr, .host.result = result };
}

static void calls_restart(void **state)
{
	struct xp_pair_counter counter = counter_of(XP_POLICY_EXACT, 1);
	const struct xp_event stopped[] = {
		call(START, 0),
		call(END, -516),
		follower(__NR_restart_syscall, XP_EV_SYSCALL_ENTRY, 0),
		follower(__NR_restart_syscall, XP_EV_SYSCALL_EXIT, -516),
		follower(__NR_restart_syscall, XP_EV_SYSCALL_EXIT, 0),
	};
	const struct xp_event again[] = { call(START, 0), call(END, -512), call(START, 0), call(END, 5) };
	const struct xp_event interrupted[] = { call(START, 0), call(END, -512), follower(__NR_rt_sigreturn, XP_EV_SYSCALL_EXIT, -4),
						call(END, 5) };

	assert_int_equal(take_frames(&counter, stopped, 4), 0);
	assert_int_equal(take_frames(&counter, stopped + 4, 1), 1);
	assert_int_equal(take_frames(&counter, again, 4), 2);
	assert_int_equal(take_frames(&counter, interrupted, 4), 3);
	xp_pair_counter_done(&counter);
}

static void orphans_are_told_once_a_thread(void **state)
{
	struct xp_pair_counter counter = counter_of(XP_POLICY_EXACT, 1);
	const struct xp_event end = call(END, 0), start = call(START, 0);
	struct xp_event other = end;

	assert_true(xp_pair_counter_is_orphan(&counter, &end));
	assert_false(xp_pair_counter_is_orphan(&counter, &end));
	other.tid = 8;
	xp_pair_counter_take(&counter, &(struct xp_event){ .tid = 8, .endpoints = START });
	assert_false(xp_pair_counter_is_orphan(&counter, &other));
	assert_false(xp_pair_counter_is_orphan(&counter, &start));
	xp_pair_counter_done(&counter);

	counter = counter_of(XP_POLICY_FIRST_AFTER, 1);
	assert_false(xp_pair_counter_is_orphan(&counter, &end));
	xp_pair_counter_done(&counter);
}

/* Random events of a few threads in the order of a ring that mixes CPUs: slightly out of order in time. */
static void fill_random(struct xp_event *events, unsigned bits)
{
	uint64_t now = 1000;

	for (int i = 0; i < CALLS; i++) {
		now += (uint64_t)(rand() % 20);
		events[i] = (struct xp_event){
			.t_ns = now - (uint64_t)(rand() % 30),
			.sequence = (uint64_t)i,
			.pid = 1,
			.tid = 1,
			.endpoints = bits == 1 ? 1 : 1u << (rand() % 2),
			.type = XP_EV_TRACEPOINT,
			.detail = XP_NO_DETAIL,
			.clock = XP_CLOCK_HOST,
		};
	}
}

static uint64_t correlated(const struct xp_event *events, enum xp_policy_id policy, uint32_t end_bit)
{
	xp_auto(xp_store_free) struct xp_store *store = xp_store_new(CALLS);
	struct xp_endpoint endpoints[2] = { { .type = XP_EV_TRACEPOINT }, { .type = XP_EV_TRACEPOINT } };
	const struct xp_correlate_request request = {
		.start = &endpoints[0],
		.end = &endpoints[1],
		.start_bit = 1,
		.end_bit = end_bit,
		.policy = policy,
	};
	struct xp_pairs pairs = {};
	xp_auto_err err = {};

	for (int i = 0; i < CALLS; i++)
		assert_true(xp_store_add(store, &events[i]));
	xp_store_sort(store);
	assert_int_equal(xp_correlate(store, &request, &pairs, &err), 0);
	uint64_t n = pairs.n;

	xp_pairs_done(&pairs);
	return n;
}

static void never_above_correlation(void **state)
{
	static const enum xp_policy_id policies[] = { XP_POLICY_FIRST_AFTER, XP_POLICY_NEAREST };
	struct xp_event events[CALLS];

	srand(20011);
	for (int round = 0; round < 100; round++) {
		enum xp_policy_id policy = policies[round % 2];
		unsigned end = round % 3 ? 1 : 0; /* one selector on both sides */
		struct xp_pair_counter counter = counter_of(policy, end);

		fill_random(events, end ? 2 : 1);
		for (size_t from = 0; from < CALLS; from += 40)
			xp_pair_counter_take_batch(&counter, events, from, from + 40);
		uint64_t all = correlated(events, policy, 1u << end);

		assert_true(counter.pairs <= all);
		/* At most what lies around the seams of the batches may be missing. */
		assert_true(counter.pairs + 40 >= all);
		xp_pair_counter_done(&counter);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames),
		cmocka_unit_test(goroutines_move),
		cmocka_unit_test(calls_restart),
		cmocka_unit_test(orphans_are_told_once_a_thread),
		cmocka_unit_test(never_above_correlation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
