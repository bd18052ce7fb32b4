/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for every policy: clocks, the samples cut, the offline duration, identities (contract 9, 9.1 rules 1, 2 and 7). */
#include <asm/unistd.h>

#include "capture.h"

static struct capture *loose(enum xp_policy_id policy)
{
	return capture_new(policy, XP_EV_TRACEPOINT, XP_EV_TRACEPOINT);
}

static void nothing_at_all(void **state)
{
	for (unsigned policy = 0; policy < XP_POLICY_COUNT; policy++) {
		struct capture *c = capture_new(policy, XP_EV_SYSCALL_ENTRY, XP_EV_SYSCALL_EXIT);

		c->request.samples = 3;
		expect_counts(correlate(c), 0, 0, 0, 0);
		assert_int_equal(c->pairs.start_events, 0);
		capture_free(c);
	}
}

static void put_clock(struct capture *c, uint64_t t_ns, uint32_t role, enum xp_clock_domain clock)
{
	struct xp_event e = event_of(c, t_ns, role);

	e.clock = (uint8_t)clock;
	put(c, e);
}

static int clocks_of(enum xp_clock_domain a, enum xp_clock_domain b, uint32_t role_b, uint32_t extra_flags, char *ret_start, char *ret_end)
{
	struct capture *c = loose(XP_POLICY_FIRST_AFTER);
	struct xp_event e;
	xp_auto_err err = { 0 };

	put_clock(c, 10, START, a);
	e = event_of(c, 20, role_b);
	e.clock = (uint8_t)b;
	e.flags = (uint16_t)extra_flags;
	put(c, e);
	xp_store_sort(c->store);
	int r = xp_correlate(c->store, &c->request, &c->pairs, &err);
	if (r) {
		assert_int_equal(err.code, XP_E_CLOCK_ALIGNMENT_FAILED);
		strcpy(ret_start, json_string_value(json_object_get(err.details, "start_clock")));
		strcpy(ret_end, json_string_value(json_object_get(err.details, "end_clock")));
	} else {
		strcpy(ret_start, xp_alignment_names[c->pairs.alignment]);
	}
	capture_free(c);
	return r;
}

static void clocks_must_be_of_one_group(void **state)
{
	char start[64], end[64];

	assert_int_equal(clocks_of(XP_CLOCK_HOST, XP_CLOCK_HOST, END, 0, start, end), 0);
	assert_string_equal(start, "host_monotonic");
	assert_int_equal(clocks_of(XP_CLOCK_HOST, XP_CLOCK_CUPTI_NORMALIZED, END, 0, start, end), 0);
	assert_string_equal(start, "cupti_normalized_to_host_monotonic");
	assert_int_equal(clocks_of(XP_CLOCK_CUPTI, XP_CLOCK_CUPTI, END, 0, start, end), 0);
	assert_string_equal(start, "cupti_same_domain");
	assert_int_not_equal(clocks_of(XP_CLOCK_HOST, XP_CLOCK_CUPTI, END, 0, start, end), 0);
	assert_string_equal(start, "host_monotonic");
	assert_string_equal(end, "cupti");
	assert_int_not_equal(clocks_of(XP_CLOCK_CUPTI, XP_CLOCK_CUPTI_NORMALIZED, END, 0, start, end), 0);
	assert_int_not_equal(clocks_of(XP_CLOCK_CUPTI, XP_CLOCK_CUPTI_NORMALIZED, START, 0, start, end), 0); /* one source, mixed */
	/* events that take no part in the correlation take none in the check */
	assert_int_equal(clocks_of(XP_CLOCK_HOST, XP_CLOCK_CUPTI, NEITHER, 0, start, end), 0);
	assert_int_equal(clocks_of(XP_CLOCK_HOST, XP_CLOCK_CUPTI, END, XP_EVF_INVALID_TIME, start, end), 0);
}

static void offline_duration_is_inclusive(void **state)
{
	struct capture *c = loose(XP_POLICY_FIRST_AFTER);
	const uint64_t ms = 1000000;

	put_at(c, 1 * ms, NEITHER);
	put_at(c, 5 * ms, START);
	put_at(c, 7 * ms, END); /* at the bound */
	put_at(c, 7 * ms, START);
	put_clock(c, 7 * ms + 1, END, XP_CLOCK_CUPTI); /* behind it, also for the clock check */
	xp_store_sort(c->store);
	c->request.last_ns = xp_correlate_last_ns(c->store, BOTH, 2);
	assert_true(c->request.last_ns.set);
	assert_int_equal(c->request.last_ns.v, 7 * ms);
	expect_counts(correlate(c), 1, 1, 0, 0);
	capture_free(c);
}

static void offline_duration_without_events_or_beyond_all_time(void **state)
{
	struct capture *c = loose(XP_POLICY_FIRST_AFTER);

	assert_false(xp_correlate_last_ns(c->store, BOTH, 2).set);
	put_at(c, 5, END); /* either selector's first event counts */
	assert_int_equal(xp_correlate_last_ns(c->store, BOTH, 1).v, 1000005);
	assert_true(xp_correlate_last_ns(c->store, BOTH, UINT64_MAX).v == UINT64_MAX);
	capture_free(c);
}

static void cut_keeps_the_first_pairs_by_start(void **state)
{
	struct capture *c = loose(XP_POLICY_FIRST_AFTER);

	put_at(c, 5, END); /* unmatched, before the cut */
	put_at(c, 10, START);
	put_at(c, 20, END);
	put_at(c, 25, END); /* unmatched, before the cut */
	put_at(c, 30, START);
	put_at(c, 40, END); /* second pair ends here */
	put_at(c, 45, END); /* behind: counts nowhere */
	put_at(c, 50, START);
	c->request.samples = 2;
	expect_counts(correlate(c), 2, 0, 2, 0);
	c->request.samples = 3; /* fewer than asked for: nothing is cut */
	expect_counts(correlate(c), 2, 1, 3, 0);
	capture_free(c);
}

/* The pair that starts second ends first: it is cut off, and counts as nothing. */
static void cut_off_pairs_count_nowhere(void **state)
{
	struct capture *c = capture_new(XP_POLICY_STACK_NESTED, XP_EV_HOST_FUNCTION_ENTRY, XP_EV_HOST_FUNCTION_EXIT);

	put_at(c, 10, START);
	put_at(c, 20, START);
	put_at(c, 30, END);
	put_at(c, 40, END);
	c->request.samples = 1;
	expect_counts(correlate(c), 1, 0, 0, 0);
	expect_pair(c, 0, 10, 40);
	capture_free(c);
}

static void cut_of_a_life_cycle(void **state)
{
	struct capture *c = capture_new(XP_POLICY_EXACT, XP_EV_PYTHON_GC_START, XP_EV_PYTHON_GC_END);

	put_at(c, 10, START); /* replaced */
	put_at(c, 20, START);
	put_at(c, 30, END);
	put_at(c, 40, START); /* replaced, behind the cut */
	put_at(c, 50, START);
	put_at(c, 60, END);
	c->request.samples = 1;
	expect_counts(correlate(c), 1, 0, 0, 1);
	c->request.samples = 2;
	expect_counts(correlate(c), 2, 0, 0, 2);
	capture_free(c);
}

/* nearest runs over everything first: the first start's end is taken by nobody else although it was cut off with the second pair. */
static void cut_of_nearest(void **state)
{
	struct capture *c = loose(XP_POLICY_NEAREST);

	put_at(c, 10, START);
	put_at(c, 19, END); /* taken by the second start */
	put_at(c, 20, START);
	put_at(c, 11, END);
	put_at(c, 5, END);  /* unused, before */
	put_at(c, 90, END); /* unused, behind */
	c->request.samples = 1;
	expect_counts(correlate(c), 1, 0, 1, 0);
	expect_pair(c, 0, 10, 11);
	capture_free(c);
}

static void put_kernel(struct capture *c, uint64_t t_ns, uint32_t role, uint32_t correlation)
{
	struct xp_event e = event_of(c, t_ns, role);

	e.gpu.context = 1;
	e.gpu.correlation = correlation;
	put(c, e);
}

/* An ambiguous group that the cut passes through counts its part before the cut, by the larger side there. */
static void cut_through_an_ambiguous_group(void **state)
{
	struct capture *c = capture_new(XP_POLICY_EXACT, XP_EV_GPU_KERNEL_START, XP_EV_GPU_KERNEL_END);

	put_kernel(c, 10, START, 7);
	put_kernel(c, 11, START, 9);
	put_kernel(c, 12, START, 9);
	put_kernel(c, 13, END, 9);
	put_kernel(c, 20, END, 7); /* the first pair ends */
	put_kernel(c, 21, END, 9);
	put_kernel(c, 22, END, 9);
	put_kernel(c, 23, END, 9);
	c->request.samples = 1;
	expect_counts(correlate(c), 1, 0, 0, 2);
	c->request.samples = 0;
	expect_counts(correlate(c), 1, 0, 0, 4);
	capture_free(c);
}

static void put_launch(struct capture *c, uint64_t t_ns, uint32_t correlation)
{
	struct xp_event e = event_of(c, t_ns, START);

	e.flags = XP_EVF_GRAPH_LAUNCH;
	e.gpu.context = 1;
	e.gpu.correlation = correlation;
	put(c, e);
	for (unsigned node = 1; node <= 3; node++) {
		struct xp_event_detail *detail;

		e = event_of(c, t_ns + node, END);
		e.flags = XP_EVF_GRAPH_NODE;
		e.gpu.context = 1;
		e.gpu.correlation = correlation;
		e.detail = xp_store_detail_new(c->store, &detail);
		detail->gpu.node = node;
		put(c, e);
	}
}

static void cut_of_one_to_many(void **state)
{
	struct capture *c = capture_new(XP_POLICY_EXACT, XP_EV_CUDA_API_ENTRY, XP_EV_GPU_KERNEL_START);

	c->start.cuda.api_name = "cudaGraphLaunch";
	put_launch(c, 10, 1);
	put_launch(c, 20, 2);
	c->request.samples = 3;
	expect_counts(correlate(c), 3, 0, 0, 0);
	assert_int_equal(c->pairs.one_to_many, 1);
	c->request.samples = 4; /* in the middle of the second launch */
	expect_counts(correlate(c), 4, 0, 0, 0);
	assert_int_equal(c->pairs.one_to_many, 2);
	capture_free(c);
}

/* "by start, then start sequence, end time, end sequence" decides which pairs of one launch are kept. */
static void cut_within_one_launch(void **state)
{
	struct capture *c = capture_new(XP_POLICY_EXACT, XP_EV_CUDA_API_ENTRY, XP_EV_GPU_KERNEL_START);

	c->start.cuda.api_name = "cudaGraphLaunch";
	put_launch(c, 10, 1);
	c->request.samples = 2;
	correlate(c);
	expect_pair(c, 0, 10, 11);
	expect_pair(c, 1, 10, 12);
	capture_free(c);
}

static void put_process(struct capture *c, uint64_t t_ns, uint32_t role, uint32_t pid, struct xp_opt_u64 start_time)
{
	struct xp_event e = event_of(c, t_ns, role);

	e.pid = pid;
	e.process = xp_store_process(c->store, pid, start_time);
	put(c, e);
}

static void a_missing_start_time_joins_the_only_identity(void **state)
{
	const struct xp_opt_u64 none = { 0 }, first = XP_SOME(7), second = XP_SOME(8);
	struct capture *c = capture_new(XP_POLICY_EXACT, XP_EV_PYTHON_GC_START, XP_EV_PYTHON_GC_END);

	put_process(c, 10, START, 50, none);
	put_process(c, 20, END, 50, first);
	put_process(c, 30, START, 60, none); /* two identities of this pid: which one is not known */
	put_process(c, 35, START, 60, second);
	put_process(c, 40, END, 60, first);
	put_process(c, 50, START, 70, none);
	put_process(c, 60, END, 70, none);
	expect_counts(correlate(c), 2, 2, 1, 0);
	expect_pair(c, 0, 10, 20);
	expect_pair(c, 1, 50, 60);
	capture_free(c);
}

static void selected_events_are_counted(void **state)
{
	struct capture *c = loose(XP_POLICY_FIRST_AFTER);

	put_at(c, 10, START);
	put_at(c, 20, BOTH);
	put_at(c, 30, NEITHER);
	correlate(c);
	assert_int_equal(c->pairs.start_events, 2);
	assert_int_equal(c->pairs.end_events, 1);
	capture_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_at_all),
		cmocka_unit_test(clocks_must_be_of_one_group),
		cmocka_unit_test(offline_duration_is_inclusive),
		cmocka_unit_test(offline_duration_without_events_or_beyond_all_time),
		cmocka_unit_test(cut_keeps_the_first_pairs_by_start),
		cmocka_unit_test(cut_off_pairs_count_nowhere),
		cmocka_unit_test(cut_of_a_life_cycle),
		cmocka_unit_test(cut_of_nearest),
		cmocka_unit_test(cut_through_an_ambiguous_group),
		cmocka_unit_test(cut_of_one_to_many),
		cmocka_unit_test(cut_within_one_launch),
		cmocka_unit_test(a_missing_start_time_joins_the_only_identity),
		cmocka_unit_test(selected_events_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
