/* SPDX-License-Identifier: Apache-2.0 */
/* stack_nested, stream_order, first_after and nearest: one test a sentence of contract 9 and 9.1. */
#include "capture.h"

#define CALLS XP_EV_HOST_FUNCTION_ENTRY, XP_EV_HOST_FUNCTION_EXIT

static struct capture *calls(void)
{
	return capture_new(XP_POLICY_STACK_NESTED, CALLS);
}

static void put_frame(struct capture *c, uint64_t t_ns, uint32_t role, uint32_t tid, uint64_t sp)
{
	struct xp_event e = event_of(c, t_ns, role);

	e.tid = tid;
	e.host.sp = sp;
	e.flags = sp ? XP_EVF_HAS_SP : 0;
	put(c, e);
}

static void an_end_takes_the_top(void **state)
{
	struct capture *c = calls();

	put_frame(c, 10, START, 1, 900);
	put_frame(c, 20, START, 1, 800);
	put_frame(c, 25, START, 2, 100);
	put_frame(c, 30, END, 1, 800);
	put_frame(c, 40, END, 1, 900);
	put_frame(c, 50, END, 2, 100);
	expect_counts(correlate(c), 3, 0, 0, 0);
	expect_pair(c, 0, 10, 40);
	expect_pair(c, 1, 20, 30);
	expect_pair(c, 2, 25, 50);
	assert_string_equal(c->pairs.method, "stack_nested_tid_lifo");
	assert_int_equal(c->pairs.confidence, XP_CONF_HIGH);
	capture_free(c);
}

static void empty_stack_and_leftovers(void **state)
{
	struct capture *c = calls();

	put_frame(c, 10, END, 1, 900);
	put_frame(c, 20, START, 1, 900);
	put_frame(c, 30, START, 1, 800);
	expect_counts(correlate(c), 0, 2, 1, 0);
	capture_free(c);
}

/* Without stack pointers (old files) the order alone decides. */
static void plain_lifo_without_stack_pointers(void **state)
{
	struct capture *c = calls();

	put_frame(c, 10, START, 1, 0);
	put_frame(c, 20, START, 1, 0);
	put_frame(c, 30, END, 1, 0);
	expect_counts(correlate(c), 1, 1, 0, 0);
	expect_pair(c, 0, 20, 30);
	capture_free(c);
}

/* A return used to be paired with a call that longjmp had left behind. */
static void frames_left_by_longjmp_are_popped(void **state)
{
	struct capture *c = calls();

	put_frame(c, 10, START, 1, 900);
	put_frame(c, 20, START, 1, 800);
	put_frame(c, 30, START, 1, 700);
	put_frame(c, 40, END, 1, 900);
	expect_counts(correlate(c), 1, 2, 0, 0);
	expect_pair(c, 0, 10, 40);
	capture_free(c);
}

static void a_top_above_the_returning_frame_stays(void **state)
{
	struct capture *c = calls();

	put_frame(c, 10, START, 1, 900);
	put_frame(c, 20, END, 1, 800);
	put_frame(c, 30, END, 1, 900);
	expect_counts(correlate(c), 1, 0, 1, 0);
	expect_pair(c, 0, 10, 30);
	capture_free(c);
}

static void put_go(struct capture *c, uint64_t t_ns, uint32_t role, uint32_t tid, uint64_t key, uint64_t sp)
{
	struct xp_event e = event_of(c, t_ns, role);

	e.tid = tid;
	e.host.key = key;
	e.host.sp = sp;
	e.flags = XP_EVF_GOROUTINE | XP_EVF_HAS_SP;
	put(c, e);
}

/* A goroutine that moved to another thread, with a stack that moved in memory, was not paired. */
static void goroutines_pair_across_threads(void **state)
{
	struct capture *c = calls();

	put_go(c, 10, START, 1, 0xc000, 800);
	put_go(c, 15, START, 1, 0xd000, 500);
	put_go(c, 20, END, 2, 0xc000, 5000);
	put_go(c, 30, END, 3, 0xd000, 100);
	expect_counts(correlate(c), 2, 0, 0, 0);
	expect_pair(c, 0, 10, 20);
	expect_pair(c, 1, 15, 30);
	capture_free(c);
}

/* A goroutine pointer and a thread id of the same number are not one key. */
static void goroutine_keys_are_no_thread_ids(void **state)
{
	struct capture *c = calls();

	put_frame(c, 10, START, 77, 0);
	put_go(c, 20, END, 1, 77, 0);
	expect_counts(correlate(c), 0, 1, 1, 0);
	capture_free(c);
}

/* Recursion deeper than the kernel's 64 pending returns is noticed; 64 frames, and calls that longjmp left, are not mistaken for it. */
static bool deep(unsigned frames, uint64_t step)
{
	struct capture *c = calls();
	struct xp_resolved resolved = { .return_method = XP_RETURN_URETPROBE };

	c->end.resolved = &resolved;
	for (unsigned i = 0; i < frames; i++)
		put_frame(c, 10 + i, START, 1, 100000 - step * i);
	bool noticed = correlate(c)->nested_too_deep;
	capture_free(c);
	return noticed;
}

static void nesting_is_noticed(void **state)
{
	assert_true(deep(65, 16));
	assert_true(deep(80, 16));
	assert_false(deep(64, 16));
	assert_false(deep(80, 0));
}

static struct xp_event gpu(const struct capture *c, uint64_t t_ns, uint32_t role, uint32_t device, uint32_t context, uint64_t stream)
{
	struct xp_event e = event_of(c, t_ns, role);

	e.tid = 0;
	e.clock = XP_CLOCK_CUPTI_NORMALIZED;
	e.source = XP_SRC_CUPTI_ACTIVITY;
	e.gpu.device = device;
	e.gpu.context = context;
	e.gpu.stream = stream;
	return e;
}

static void streams_are_kept_apart(void **state)
{
	struct capture *c = capture_new(XP_POLICY_STREAM_ORDER, XP_EV_GPU_KERNEL_END, XP_EV_GPU_KERNEL_START);

	put(c, gpu(c, 10, START, 0, 1, 7));
	put(c, gpu(c, 11, START, 1, 1, 7)); /* other device */
	put(c, gpu(c, 12, START, 0, 2, 7)); /* other context */
	put(c, gpu(c, 13, START, 0, 1, 8)); /* other stream */
	put(c, gpu(c, 20, END, 0, 1, 8));
	put(c, gpu(c, 21, END, 0, 2, 7));
	put(c, gpu(c, 22, END, 1, 1, 7));
	put(c, gpu(c, 23, END, 0, 1, 7));
	expect_counts(correlate(c), 4, 0, 0, 0);
	expect_pair(c, 0, 10, 23);
	expect_pair(c, 1, 11, 22);
	expect_pair(c, 2, 12, 21);
	expect_pair(c, 3, 13, 20);
	assert_int_equal(c->pairs.alignment, XP_ALIGN_NORMALIZED);
	capture_free(c);
}

static void stream_ends_before_and_behind_are_left(void **state)
{
	struct capture *c = capture_new(XP_POLICY_STREAM_ORDER, XP_EV_GPU_KERNEL_START, XP_EV_GPU_KERNEL_END);

	put(c, gpu(c, 5, END, 0, 1, 7));
	put(c, gpu(c, 10, START, 0, 1, 7));
	put(c, gpu(c, 20, END, 0, 1, 7));
	put(c, gpu(c, 25, END, 0, 1, 7));   /* behind the last start */
	put(c, gpu(c, 30, START, 0, 2, 7)); /* no end in its stream */
	expect_counts(correlate(c), 1, 1, 2, 0);
	expect_pair(c, 0, 10, 20);
	capture_free(c);
}

static void events_without_the_three_ids_are_left(void **state)
{
	static const uint16_t flags[] = { XP_EVF_NO_DEVICE, XP_EVF_NO_CONTEXT, XP_EVF_NO_STREAM, 0 };

	for (size_t i = 0; i < XP_LEN(flags); i++) {
		struct capture *c = capture_new(XP_POLICY_STREAM_ORDER, XP_EV_GPU_KERNEL_START, XP_EV_GPU_KERNEL_END);
		uint64_t stream = flags[i] ? 7 : UINT32_MAX; /* 2^32-1 means unknown */
		struct xp_event start = gpu(c, 10, START, 0, 1, stream), end = gpu(c, 20, END, 0, 1, stream);

		start.flags |= flags[i];
		end.flags |= flags[i];
		put(c, start);
		put(c, end);
		expect_counts(correlate(c), 0, 1, 1, 0);
		capture_free(c);
	}
}

static struct capture *loose(enum xp_policy_id policy)
{
	return capture_new(policy, XP_EV_TRACEPOINT, XP_EV_TRACEPOINT);
}

static void first_after_takes_each_end_once(void **state)
{
	struct capture *c = loose(XP_POLICY_FIRST_AFTER);

	put_at(c, 5, END);
	put_at(c, 10, START);
	put_at(c, 11, START);
	put_at(c, 20, END);
	put_at(c, 30, END);
	put_at(c, 31, END);
	expect_counts(correlate(c), 2, 0, 2, 0);
	expect_pair(c, 0, 10, 20);
	expect_pair(c, 1, 11, 30);
	assert_int_equal(c->pairs.confidence, XP_CONF_HEURISTIC);
	capture_free(c);
}

static void first_after_without_an_end_leaves_all_later_starts(void **state)
{
	struct capture *c = loose(XP_POLICY_FIRST_AFTER);

	put_at(c, 10, START);
	put_at(c, 20, END);
	put_at(c, 30, START);
	put_at(c, 40, START);
	expect_counts(correlate(c), 1, 2, 0, 0);
	capture_free(c);
}

/* "before" is meant in (time, sequence): at one ns, the sequence decides. */
static void order_within_one_ns(void **state)
{
	struct capture *c = loose(XP_POLICY_FIRST_AFTER);

	put_at(c, 10, END);
	put_at(c, 10, START);
	put_at(c, 10, END);
	expect_counts(correlate(c), 1, 0, 1, 0);
	assert_int_equal(c->pairs.at[0].end, 2);
	capture_free(c);
}

static void one_event_never_pairs_with_itself(void **state)
{
	static const enum xp_policy_id policies[] = { XP_POLICY_FIRST_AFTER, XP_POLICY_NEAREST };

	for (size_t i = 0; i < XP_LEN(policies); i++) {
		struct capture *c = loose(policies[i]);

		for (uint64_t t = 10; t <= 40; t += 10)
			put_at(c, t, BOTH);
		expect_counts(correlate(c), 3, 1, 1, 0);
		expect_pair(c, 0, 10, 20);
		expect_pair(c, 2, 30, 40);
		capture_free(c);
	}
}

static void nearest_looks_both_ways(void **state)
{
	struct capture *c = loose(XP_POLICY_NEAREST);

	put_at(c, 7, END);
	put_at(c, 10, START);
	put_at(c, 20, END);
	put_at(c, 30, START);
	put_at(c, 31, START);
	expect_counts(correlate(c), 2, 1, 0, 0);
	expect_pair(c, 0, 10, 7);
	expect_pair(c, 1, 30, 20);
	capture_free(c);
}

static void nearest_at_equal_distance_takes_the_later(void **state)
{
	struct capture *c = loose(XP_POLICY_NEAREST);

	put_at(c, 8, END);
	put_at(c, 10, START);
	put_at(c, 12, END);
	expect_counts(correlate(c), 1, 0, 1, 0);
	expect_pair(c, 0, 10, 12);
	capture_free(c);
}

static void nearest_at_equal_times_takes_the_lower_sequence(void **state)
{
	struct capture *c = loose(XP_POLICY_NEAREST);

	put_at(c, 8, END);
	put_at(c, 8, END);
	put_at(c, 9, START);
	put_at(c, 20, START);
	put_at(c, 21, END);
	put_at(c, 21, END);
	expect_counts(correlate(c), 2, 0, 2, 0);
	assert_int_equal(c->pairs.at[0].end, 0);
	assert_int_equal(c->pairs.at[1].end, 4);
	capture_free(c);
}

static void nearest_at_one_time_ignores_the_order(void **state)
{
	struct capture *c = loose(XP_POLICY_NEAREST);

	put_at(c, 10, END);
	put_at(c, 10, START);
	put_at(c, 10, END);
	expect_counts(correlate(c), 1, 0, 1, 0);
	assert_int_equal(c->pairs.at[0].end, 0);
	capture_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_end_takes_the_top),
		cmocka_unit_test(empty_stack_and_leftovers),
		cmocka_unit_test(plain_lifo_without_stack_pointers),
		cmocka_unit_test(frames_left_by_longjmp_are_popped),
		cmocka_unit_test(a_top_above_the_returning_frame_stays),
		cmocka_unit_test(goroutines_pair_across_threads),
		cmocka_unit_test(goroutine_keys_are_no_thread_ids),
		cmocka_unit_test(nesting_is_noticed),
		cmocka_unit_test(streams_are_kept_apart),
		cmocka_unit_test(stream_ends_before_and_behind_are_left),
		cmocka_unit_test(events_without_the_three_ids_are_left),
		cmocka_unit_test(first_after_takes_each_end_once),
		cmocka_unit_test(first_after_without_an_end_leaves_all_later_starts),
		cmocka_unit_test(order_within_one_ns),
		cmocka_unit_test(one_event_never_pairs_with_itself),
		cmocka_unit_test(nearest_looks_both_ways),
		cmocka_unit_test(nearest_at_equal_distance_takes_the_later),
		cmocka_unit_test(nearest_at_equal_times_takes_the_lower_sequence),
		cmocka_unit_test(nearest_at_one_time_ignores_the_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
