/* SPDX-License-Identifier: Apache-2.0 */
/* exact by correlation id: one test a sentence of contract 9 and 9.1 rules 6 and 7. */
#include "capture.h"

#define KERNELS XP_EV_GPU_KERNEL_START, XP_EV_GPU_KERNEL_END
#define LAUNCHES XP_EV_CUDA_API_ENTRY, XP_EV_GPU_KERNEL_START
#define APIS XP_EV_CUDA_API_ENTRY, XP_EV_CUDA_API_EXIT

enum { NO_ID = 0xffffffff };

static struct capture *cuda(enum xp_event_type start, enum xp_event_type end)
{
	struct capture *c = capture_new(XP_POLICY_EXACT, start, end);

	c->start.cuda.api_name = c->end.cuda.api_name = "cudaLaunchKernel";
	return c;
}

/* context 0: the event carries none. */
static struct xp_event gpu(const struct capture *c, uint64_t t_ns, uint32_t role, uint32_t context, uint32_t correlation)
{
	struct xp_event e = event_of(c, t_ns, role);
	bool api = e.type == XP_EV_CUDA_API_ENTRY || e.type == XP_EV_CUDA_API_EXIT;

	e.clock = api ? XP_CLOCK_HOST : XP_CLOCK_CUPTI_NORMALIZED;
	e.flags = context ? 0 : XP_EVF_NO_CONTEXT;
	e.gpu.context = context;
	e.gpu.correlation = correlation;
	return e;
}

static void put_gpu(struct capture *c, uint64_t t_ns, uint32_t role, uint32_t context, uint32_t correlation)
{
	put(c, gpu(c, t_ns, role, context, correlation));
}

static void put_node(struct capture *c, uint64_t t_ns, uint32_t role, uint32_t correlation, uint64_t node)
{
	struct xp_event e = gpu(c, t_ns, role, 1, correlation);
	struct xp_event_detail *detail;

	e.flags |= XP_EVF_GRAPH_NODE;
	e.detail = xp_store_detail_new(c->store, &detail);
	detail->gpu.node = node;
	put(c, e);
}

static void put_graph_launch(struct capture *c, uint64_t t_ns, uint32_t correlation)
{
	struct xp_event e = gpu(c, t_ns, START, 1, correlation);

	e.flags |= XP_EVF_GRAPH_LAUNCH;
	put(c, e);
}

static void groups_by_context_and_id(void **state)
{
	struct capture *c = cuda(LAUNCHES);

	put_gpu(c, 10, START, 1, 5);
	put_gpu(c, 11, START, 2, 5);
	put_gpu(c, 12, START, 1, 6);
	put_gpu(c, 20, END, 2, 5);
	put_gpu(c, 21, END, 1, 6);
	put_gpu(c, 22, END, 1, 5);
	expect_counts(correlate(c), 3, 0, 0, 0);
	expect_pair(c, 0, 10, 22);
	expect_pair(c, 1, 11, 20);
	expect_pair(c, 2, 12, 21);
	assert_string_equal(c->pairs.method, "exact_cupti_correlation_id");
	capture_free(c);
}

static void processes_are_kept_apart(void **state)
{
	struct capture *c = cuda(KERNELS);
	struct xp_event e;

	put_gpu(c, 10, START, 1, 5);
	e = gpu(c, 20, END, 1, 5);
	e.process = xp_store_process(c->store, TEST_PID, (struct xp_opt_u64)XP_SOME(8));
	put(c, e);
	expect_counts(correlate(c), 0, 1, 1, 0);
	capture_free(c);
}

static void without_ids_unmatched(void **state)
{
	struct capture *c = cuda(KERNELS);
	struct xp_event e;

	put_gpu(c, 10, START, 0, 5);
	put_gpu(c, 20, END, 0, 5);
	put_gpu(c, 30, START, 1, NO_ID); /* 2^32-1 means unknown */
	put_gpu(c, 40, END, 1, NO_ID);
	e = gpu(c, 50, START, 1, 9);
	e.flags |= XP_EVF_NO_CORRELATION;
	put(c, e);
	put_gpu(c, 60, END, 1, 9);
	expect_counts(correlate(c), 0, 3, 3, 0);
	capture_free(c);
}

static void a_key_on_one_side_only(void **state)
{
	struct capture *c = cuda(KERNELS);

	put_gpu(c, 10, START, 1, 5);
	put_gpu(c, 11, START, 1, 5);
	put_gpu(c, 20, END, 1, 6);
	expect_counts(correlate(c), 0, 2, 1, 0);
	capture_free(c);
}

static void equal_counts_pair_in_time_order(void **state)
{
	struct capture *c = cuda(KERNELS);

	put_gpu(c, 10, START, 1, 5);
	put_gpu(c, 11, START, 1, 5);
	put_gpu(c, 20, END, 1, 5);
	put_gpu(c, 30, END, 1, 5);
	expect_counts(correlate(c), 2, 0, 0, 0);
	expect_pair(c, 0, 10, 20);
	expect_pair(c, 1, 11, 30);
	capture_free(c);
}

static void an_end_before_its_start_leaves_both(void **state)
{
	struct capture *c = cuda(KERNELS);

	put_gpu(c, 10, END, 1, 5);
	put_gpu(c, 11, START, 1, 5);
	put_gpu(c, 12, START, 1, 5);
	put_gpu(c, 30, END, 1, 5);
	expect_counts(correlate(c), 1, 1, 1, 0);
	expect_pair(c, 0, 12, 30);
	capture_free(c);
}

static void different_counts_are_ambiguous_by_the_larger(void **state)
{
	struct capture *c = cuda(LAUNCHES);

	put_gpu(c, 10, START, 1, 5);
	put_gpu(c, 20, END, 1, 5);
	put_gpu(c, 21, END, 1, 5);
	put_gpu(c, 22, END, 1, 5);
	expect_counts(correlate(c), 0, 0, 0, 3);
	assert_int_equal(c->pairs.confidence, XP_CONF_AMBIGUOUS);
	capture_free(c);
}

static void one_graph_launch_pairs_with_every_node(void **state)
{
	struct capture *c = cuda(LAUNCHES);

	put_graph_launch(c, 10, 5);
	for (uint64_t node = 0; node < 7; node++)
		put_node(c, 20 + node, END, 5, 100 + node);
	expect_counts(correlate(c), 7, 0, 0, 0);
	assert_int_equal(c->pairs.one_to_many, 1);
	expect_pair(c, 0, 10, 20);
	expect_pair(c, 6, 10, 26);
	capture_free(c);
}

static void a_graph_of_one_node_is_a_plain_pair(void **state)
{
	struct capture *c = cuda(LAUNCHES);

	put_graph_launch(c, 10, 5);
	put_node(c, 20, END, 5, 100);
	expect_counts(correlate(c), 1, 0, 0, 0);
	assert_int_equal(c->pairs.one_to_many, 0);
	capture_free(c);
}

/* One node seen twice, two launches, or a launch that is no graph: not one to many. */
static void what_is_not_one_to_many(void **state)
{
	struct capture *c = cuda(LAUNCHES);

	put_graph_launch(c, 10, 5);
	put_node(c, 20, END, 5, 100);
	put_node(c, 21, END, 5, 100);
	put_graph_launch(c, 30, 6);
	put_graph_launch(c, 31, 6);
	put_node(c, 40, END, 6, 100);
	put_node(c, 41, END, 6, 101);
	put_node(c, 42, END, 6, 102);
	put_gpu(c, 50, START, 1, 7);
	put_node(c, 60, END, 7, 100);
	put_node(c, 61, END, 7, 101);
	expect_counts(correlate(c), 0, 0, 0, 2 + 3 + 2);
	assert_int_equal(c->pairs.one_to_many, 0);
	capture_free(c);
}

/* Both endpoints are activities: the node is part of the key, so replays of one launch id do not mix. */
static void nodes_are_part_of_an_activity_key(void **state)
{
	struct capture *c = cuda(KERNELS);

	put_node(c, 10, START, 5, 100);
	put_node(c, 11, START, 5, 101);
	put_node(c, 20, END, 5, 101);
	put_node(c, 30, END, 5, 100);
	put_gpu(c, 40, START, 1, 5);
	put_gpu(c, 50, END, 1, 5);
	expect_counts(correlate(c), 3, 0, 0, 0);
	expect_pair(c, 0, 10, 30);
	expect_pair(c, 1, 11, 20);
	expect_pair(c, 2, 40, 50);
	capture_free(c);
}

/* Activities before their launch: each unmatched; the launch once, and only if nothing is left to it. */
static void graph_nodes_before_the_launch(void **state)
{
	struct capture *c = cuda(LAUNCHES);

	put_node(c, 5, END, 5, 100);
	put_graph_launch(c, 10, 5);
	put_node(c, 20, END, 5, 101);
	put_node(c, 21, END, 5, 102);
	put_node(c, 30, END, 6, 100);
	put_node(c, 31, END, 6, 101);
	put_graph_launch(c, 40, 6);
	expect_counts(correlate(c), 2, 1, 3, 0);
	assert_int_equal(c->pairs.one_to_many, 1);
	capture_free(c);
}

static void put_early(struct capture *c, uint64_t t_ns, uint32_t correlation, uint64_t before, uint64_t error_ns)
{
	struct xp_event e = gpu(c, t_ns - before, END, 1, correlation);

	e.error_ns = error_ns;
	put(c, e);
	put_gpu(c, t_ns, START, 1, correlation);
}

static void within_the_clock_error_is_counted(void **state)
{
	struct capture *c = cuda(LAUNCHES);

	put_early(c, 1000, 1, 100, 100);	     /* at most the error */
	put_early(c, 2000, 2, 101, 100);	     /* more */
	put_early(c, 3000, 3, 0, 100);		     /* at the same time, by sequence before: distance 0 */
	put_early(c, 4000, 4, 50, XP_ERROR_UNKNOWN); /* no bound known */
	put_early(c, 5000, 5, 1, 100);
	expect_counts(correlate(c), 0, 5, 5, 0);
	assert_int_equal(c->pairs.within_clock_error, 2);
	capture_free(c);
}

/* Several nodes of one graph that begin before its launch were counted as one. */
static void every_early_node_is_counted(void **state)
{
	struct capture *c = cuda(LAUNCHES);

	for (uint64_t node = 0; node < 3; node++) {
		put_node(c, 90 + node, END, 5, node);
		xp_store_events(c->store)[node].error_ns = 20;
	}
	put_graph_launch(c, 100, 5);
	expect_counts(correlate(c), 0, 1, 3, 0);
	assert_int_equal(c->pairs.within_clock_error, 3);
	capture_free(c);
}

static void an_api_event_takes_the_only_context(void **state)
{
	struct capture *c = cuda(LAUNCHES);
	struct xp_event other;

	put_gpu(c, 10, START, 0, 5);
	put_gpu(c, 20, END, 3, 5);
	put_gpu(c, 30, START, 0, 6); /* two contexts have activities of this id */
	put_gpu(c, 40, END, 3, 6);
	put_gpu(c, 41, END, 4, 6);
	put_gpu(c, 50, START, 0, 7); /* the other context's activity is of another kind and not selected */
	put_gpu(c, 60, END, 3, 7);
	other = gpu(c, 61, NEITHER, 4, 7);
	other.type = XP_EV_GPU_MEMSET_START;
	put(c, other);
	expect_counts(correlate(c), 1, 2, 3, 0);
	expect_pair(c, 0, 10, 20);
	capture_free(c);
}

static void several_api_events_may_take_it(void **state)
{
	struct capture *c = cuda(LAUNCHES);

	put_gpu(c, 10, START, 0, 5);
	put_gpu(c, 11, START, 0, 5);
	put_gpu(c, 20, END, 3, 5);
	put_gpu(c, 21, END, 3, 5);
	expect_counts(correlate(c), 2, 0, 0, 0);
	capture_free(c);
}

static void without_activities_api_events_pair_by_id_alone(void **state)
{
	struct capture *c = cuda(APIS);

	put_gpu(c, 10, START, 0, 5);
	put_gpu(c, 20, END, 0, 5);
	put_gpu(c, 30, START, 2, 6); /* one of the two has a context */
	put_gpu(c, 40, END, 0, 6);
	expect_counts(correlate(c), 1, 1, 1, 0);
	expect_pair(c, 0, 10, 20);
	capture_free(c);
}

static void api_pairs_take_the_context_of_an_unselected_activity(void **state)
{
	struct capture *c = cuda(APIS);
	struct xp_event activity;

	put_gpu(c, 30, START, 2, 6);
	put_gpu(c, 40, END, 0, 6);
	activity = gpu(c, 50, NEITHER, 2, 6);
	activity.type = XP_EV_GPU_KERNEL_START;
	put(c, activity);
	expect_counts(correlate(c), 1, 0, 0, 0);
	capture_free(c);
}

static void an_unknown_launch_is_never_paired_with_an_api_event(void **state)
{
	struct capture *c = cuda(LAUNCHES);
	struct xp_event e;

	put_gpu(c, 10, START, 1, 5);
	e = gpu(c, 20, END, 1, 5);
	e.flags |= XP_EVF_LAUNCH_UNKNOWN;
	put(c, e);
	expect_counts(correlate(c), 0, 1, 1, 0);
	assert_true(c->pairs.launch_unknown);
	capture_free(c);
}

static void an_unknown_launch_does_not_hinder_kernel_durations(void **state)
{
	struct capture *c = cuda(KERNELS);

	for (uint32_t role = START; role <= END; role++) {
		struct xp_event e = gpu(c, 10 * role, role, 1, 5);

		e.flags |= XP_EVF_LAUNCH_UNKNOWN;
		put(c, e);
	}
	expect_counts(correlate(c), 1, 0, 0, 0);
	capture_free(c);
}

static void invalid_times_take_out_the_event_alone(void **state)
{
	struct capture *c = cuda(LAUNCHES);
	struct xp_event e;

	put_gpu(c, 10, START, 1, 5);
	e = gpu(c, 20, END, 1, 5);
	e.flags |= XP_EVF_INVALID_TIME;
	put(c, e);
	expect_counts(correlate(c), 0, 1, 0, 0);
	capture_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_by_context_and_id),
		cmocka_unit_test(processes_are_kept_apart),
		cmocka_unit_test(without_ids_unmatched),
		cmocka_unit_test(a_key_on_one_side_only),
		cmocka_unit_test(equal_counts_pair_in_time_order),
		cmocka_unit_test(an_end_before_its_start_leaves_both),
		cmocka_unit_test(different_counts_are_ambiguous_by_the_larger),
		cmocka_unit_test(one_graph_launch_pairs_with_every_node),
		cmocka_unit_test(a_graph_of_one_node_is_a_plain_pair),
		cmocka_unit_test(what_is_not_one_to_many),
		cmocka_unit_test(nodes_are_part_of_an_activity_key),
		cmocka_unit_test(graph_nodes_before_the_launch),
		cmocka_unit_test(within_the_clock_error_is_counted),
		cmocka_unit_test(every_early_node_is_counted),
		cmocka_unit_test(an_api_event_takes_the_only_context),
		cmocka_unit_test(several_api_events_may_take_it),
		cmocka_unit_test(without_activities_api_events_pair_by_id_alone),
		cmocka_unit_test(api_pairs_take_the_context_of_an_unselected_activity),
		cmocka_unit_test(an_unknown_launch_is_never_paired_with_an_api_event),
		cmocka_unit_test(an_unknown_launch_does_not_hinder_kernel_durations),
		cmocka_unit_test(invalid_times_take_out_the_event_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
