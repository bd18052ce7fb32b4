// SPDX-License-Identifier: Apache-2.0
/* Tables of metrics -> who is odd (contract 14.3): two and more processes, no spread, unknown values, at the bounds and just below. */
#include "triage_scene_gpu.h"

#include "triage/odd_one_out.h"

enum { MOST = 16 };
#define UNKNOWN -1.0

struct found {
	struct xp_arena *arena;
	const struct xp_odd *at;
	size_t n;
};

/* Processes 100, 101, ... with these values of one metric. */
static struct found judge(struct xp_arena *arena, enum xp_metric metric, const double *values, size_t n)
{
	struct xp_metrics each[MOST] = { 0 };
	struct found found = { .arena = arena };

	for (size_t i = 0; i < n; i++) {
		each[i].pid = 100 + (uint32_t)i;
		each[i].top_kernel = "gemm";
		if (values[i] != UNKNOWN)
			each[i].v[metric] = (struct xp_opt_f64)XP_SOME(values[i]);
	}
	found.at = xp_odd_find(each, n, arena, &found.n);
	return found;
}

#define JUDGE(metric, ...) \
	judge(s->arena, XP_METRIC_##metric, (const double[]){ __VA_ARGS__ }, sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double))

static void assert_near(double got, double wanted)
{
	if (fabs(got - wanted) > 1e-9)
		fail_msg("%.12f in place of %.12f", got, wanted);
}

static void two_differ_and_neither_is_named(void **state)
{
	struct scene *s = *state;
	struct found found = JUDGE(ON_CPU_SHARE, 0.9, 0.7);

	assert_int_equal(found.n, 1); /* exactly at 0.20, though 0.9 - 0.7 is less in doubles */
	assert_int_equal(found.at[0].metric, XP_METRIC_ON_CPU_SHARE);
	assert_false(found.at[0].pid.set);
	assert_near(found.at[0].value, 0.9);
	assert_near(found.at[0].median, 0.8);
	assert_near(found.at[0].spread, 0.1);
	assert_near(found.at[0].window_share.v, 0.2);
	assert_int_equal(JUDGE(ON_CPU_SHARE, 0.7, 0.9).n, 1);
	assert_int_equal(JUDGE(ON_CPU_SHARE, 0.9, 0.7001).n, 0);
	assert_int_equal(JUDGE(ON_CPU_SHARE, 0.5, 0.5).n, 0);
}

static void the_one_of_three_is_named(void **state)
{
	struct scene *s = *state;
	struct found found = JUDGE(SYSCALL_SHARE, 0.1, 0.8, 0.1);

	assert_int_equal(found.n, 1);
	assert_int_equal(found.at[0].pid.v, 101);
	assert_near(found.at[0].value, 0.8);
	assert_near(found.at[0].median, 0.1);
	assert_near(found.at[0].window_share.v, 0.7);
	/* Without any spread 0.10 decides. */
	assert_near(found.at[0].spread, 0);
	assert_int_equal(JUDGE(SYSCALL_SHARE, 0.5, 0.6, 0.5).n, 1);
	assert_int_equal(JUDGE(SYSCALL_SHARE, 0.5, 0.5999, 0.5).n, 0);
	assert_int_equal(JUDGE(SYSCALL_SHARE, 0.5, 0.4, 0.5).at[0].pid.v, 101);
}

static void spread_raises_the_bound(void **state)
{
	struct scene *s = *state;

	/* Median 0.5, distances 0.1 0 0.1 d: MAD 0.1, bound 3 * 1.4826 * 0.1 = 0.44478. */
	assert_int_equal(JUDGE(RUNQUEUE_SHARE, 0.4, 0.5, 0.6, 0.5 - 0.4447, 0.6).n, 0);
	struct found found = JUDGE(RUNQUEUE_SHARE, 0.4, 0.5, 0.6, 0.5 - 0.44478, 0.6);

	assert_int_equal(found.n, 1);
	assert_int_equal(found.at[0].pid.v, 103);
	assert_near(found.at[0].spread, 0.1);
}

static void the_farthest_comes_first(void **state)
{
	struct scene *s = *state;
	struct found found = JUDGE(ON_CPU_SHARE, 0.9, 0.9, 0.5, 0.9, 0.2, 0.9, 0.9);

	assert_int_equal(found.n, 2);
	assert_int_equal(found.at[0].pid.v, 104);
	assert_int_equal(found.at[1].pid.v, 102);
}

static void what_is_not_known_does_not_count(void **state)
{
	struct scene *s = *state;

	assert_int_equal(JUDGE(GPU_BUSY_SHARE, UNKNOWN, UNKNOWN, UNKNOWN).n, 0);
	assert_int_equal(JUDGE(GPU_BUSY_SHARE, 0.9, UNKNOWN, UNKNOWN).n, 0);
	/* Two that are known are two. */
	assert_int_equal(JUDGE(GPU_BUSY_SHARE, 0.9, UNKNOWN, 0.75).n, 0);
	struct found found = JUDGE(GPU_BUSY_SHARE, 0.9, UNKNOWN, 0.5);

	assert_int_equal(found.n, 1);
	assert_false(found.at[0].pid.set);
	found = JUDGE(CLOCK_LIMITED_SHARE, 0.0, UNKNOWN, 0.0, 0.3);
	assert_int_equal(found.n, 1);
	assert_int_equal(found.at[0].pid.v, 103);
}

static void kernel_times_are_compared_by_ratio(void **state)
{
	struct scene *s = *state;
	struct xp_metrics other[3] = { 0 };
	struct found found = JUDGE(TOP_KERNEL_MEAN_NS, 10000, 11000, 10000);

	assert_int_equal(found.n, 1);
	assert_int_equal(found.at[0].pid.v, 101);
	assert_near(found.at[0].value, 11000);
	assert_near(found.at[0].median, 10000);
	assert_false(found.at[0].window_share.set);
	assert_int_equal(JUDGE(TOP_KERNEL_MEAN_NS, 10000, 10999, 10000).n, 0);
	assert_int_equal(JUDGE(TOP_KERNEL_MEAN_NS, 9000, 11000).n, 1); /* 2,000 of 10,000 */
	assert_int_equal(JUDGE(TOP_KERNEL_MEAN_NS, 0, 0, 0).n, 0);
	for (size_t i = 0; i < 3; i++)
		other[i] = (struct xp_metrics){ .pid = 1 + (uint32_t)i,
						.top_kernel = i ? "gemm" : "softmax",
						.v[XP_METRIC_TOP_KERNEL_MEAN_NS] = XP_SOME(i ? 10000 : 90000) };
	xp_odd_find(other, 3, s->arena, &found.n);
	assert_int_equal(found.n, 0); /* not the same kernel in all */
}

static void the_list_has_an_end(void **state)
{
	struct scene *s = *state;
	struct xp_metrics each[MOST] = { 0 };
	size_t n;

	for (size_t i = 0; i < MOST; i++) {
		each[i].pid = 100 + (uint32_t)i;
		for (int metric = 0; metric < XP_METRIC_TOP_KERNEL_MEAN_NS; metric++)
			each[i].v[metric] = (struct xp_opt_f64)XP_SOME(i < 6 ? 0.9 : 0.1);
	}
	xp_odd_find(each, MOST, s->arena, &n);
	assert_int_equal(n, XP_MAX_ODD);
}

static void metrics_of_a_scene(void **state)
{
	struct scene *s = *state;
	struct xp_metrics metrics;

	s->threads[0] = thread(MAIN, "main", 100, 300);
	s->threads[1] = thread(73, "busy", 500, 0);
	s->time.n_threads = 2;
	s->uses[0] = (struct xp_call_use){ .tid = 73, .name = "read", .calls = 7, .total_ns = 200 * MS };
	s->uses[1] = (struct xp_call_use){ .tid = 73, .name = "write", .calls = 7, .total_ns = 100 * MS };
	s->uses[2] = (struct xp_call_use){ .tid = MAIN, .name = "read", .calls = 7, .total_ns = 900 * MS };
	s->view.n_uses = 3;
	s->levels[0].throttled_ns.v = 250 * MS;
	metrics = xp_metrics_of(&s->input);
	assert_int_equal(metrics.pid, MAIN);
	assert_near(metrics.v[XP_METRIC_ON_CPU_SHARE].v, 0.5);
	assert_near(metrics.v[XP_METRIC_RUNQUEUE_SHARE].v, 0.3);
	assert_near(metrics.v[XP_METRIC_THROTTLED_SHARE].v, 0.25);
	assert_near(metrics.v[XP_METRIC_SYSCALL_SHARE].v, 0.3);
	assert_false(metrics.v[XP_METRIC_GPU_BUSY_SHARE].set);
	s->input.threads = NULL;
	s->input.cgroup = NULL;
	metrics = xp_metrics_of(&s->input);
	for (int metric = 0; metric < XP_METRIC_COUNT; metric++)
		assert_false(metrics.v[metric].set);
}

static void metrics_of_a_gpu(void **state)
{
	struct gpu_scene *g = *state;
	struct xp_gpu_clock_event events[] = { { .reason = "sw_power_cap", .ns = 300 * MS }, { .reason = "sw_thermal", .ns = 100 * MS } };
	struct xp_gpu_device devices[] = { { .clock_events = events, .n_clock_events = 1 },
					   { .clock_events = events, .n_clock_events = 2 } };
	struct xp_gpu_health health = { .devices = devices, .n_devices = 2 };
	struct xp_metrics metrics = xp_metrics_of(&g->s->input);

	/* A process that ran no kernel is not compared by kernels. */
	assert_false(metrics.v[XP_METRIC_GPU_BUSY_SHARE].set || metrics.v[XP_METRIC_CLOCK_LIMITED_SHARE].set);
	kernel(g, "gemm", 1, 500, 600);
	kernel(g, "softmax", 1, 100, 100);
	kernel(g, "other", 0, 100, 200);
	g->s->input.gpu = &health;
	g->s->input.sources[XP_SOURCE_GPU] = xp_source_available(XP_SOURCE_GPU);
	metrics = xp_metrics_of(&g->s->input);
	assert_near(metrics.v[XP_METRIC_GPU_BUSY_SHARE].v, 0.7);
	assert_string_equal(metrics.top_kernel, "gemm");
	assert_near(metrics.v[XP_METRIC_TOP_KERNEL_MEAN_NS].v, 1.2 * MS);
	assert_near(metrics.v[XP_METRIC_CLOCK_LIMITED_SHARE].v, 0.3);
	g->s->input.sources[XP_SOURCE_CUDA_KERNELS] = xp_source_unavailable(XP_SOURCE_CUDA_KERNELS, XP_REASON_COLLECTION_DEAD, NULL);
	g->s->input.sources[XP_SOURCE_GPU] = xp_source_unavailable(XP_SOURCE_GPU, XP_REASON_ABSENT, NULL);
	metrics = xp_metrics_of(&g->s->input);
	assert_false(metrics.v[XP_METRIC_GPU_BUSY_SHARE].set || metrics.v[XP_METRIC_CLOCK_LIMITED_SHARE].set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(metrics_of_a_gpu, set_up_gpu, tear_down_gpu),
		SCENE_TEST(two_differ_and_neither_is_named),
		SCENE_TEST(the_one_of_three_is_named),
		SCENE_TEST(spread_raises_the_bound),
		SCENE_TEST(the_farthest_comes_first),
		SCENE_TEST(what_is_not_known_does_not_count),
		SCENE_TEST(kernel_times_are_compared_by_ratio),
		SCENE_TEST(the_list_has_an_end),
		SCENE_TEST(metrics_of_a_scene),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
