/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA endpoints through a whole window: selectors, the collector, the real agent in the fake program, the correlator; counts by primes. */
#include "agent_app.h"

#include <pthread.h>

#include "base/arena.h"
#include "collect/agent_exact.h"
#include "correlate/correlate.h"
#include "plan/build.h"

struct run {
	struct app app;
	struct xp_arena *arena;
	struct xp_plan plan;
	struct xp_agent_exact *exact;
	struct xp_window window;
	struct xp_pairs pairs;
	struct xp_err err;
	const char *lines[4]; /* what the program does inside the window */
};

static void start_run(struct run *run, const char *from, const char *to, enum xp_policy_id policy)
{
	unsigned start, end;

	memset(run, 0, sizeof(*run));
	start_app(&run->app, 13);
	/* The collector opens a link of its own. */
	xp_agent_link_close(run->app.link);
	run->app.link = NULL;
	run->arena = xp_arena_new();
	xp_plan_init(&run->plan, run->app.target, run->arena);
	run->plan.bounds = (struct xp_bounds){ .timeout_ms = 20000, .max_events = 100000, .max_unmatched = -1 };
	assert_int_equal(xp_plan_endpoint(&run->plan, from, "start", &start, &run->err), 0);
	assert_int_equal(xp_plan_endpoint(&run->plan, to, "end", &end, &run->err), 0);
	run->plan.edges[run->plan.n_edges++] = (struct xp_edge){ .start = start, .end = end, .policy = policy };
}

static void *work(void *arg)
{
	struct run *run = arg;

	if (run->lines[0])
		wait_window(&run->app);
	for (unsigned i = 0; i < 4 && run->lines[i]; i++) {
		fprintf(run->app.to, "%s\n", run->lines[i]);
		fflush(run->app.to);
		answer(&run->app);
	}
	return NULL;
}

static int run_window(struct run *run, unsigned duration_ms)
{
	const struct xp_agent_options options = { .session = "xp_test" };
	const struct xp_window_bounds bounds = { .duration_ms = duration_ms, .timeout_ms = run->plan.bounds.timeout_ms };
	struct xp_collector collector;
	pthread_t thread;
	int r;

	assert_int_equal(xp_agent_exact_new(&run->plan, &options, NULL, &run->exact, &run->err), 0);
	collector = xp_agent_exact_collector(run->exact);
	pthread_create(&thread, NULL, work, run);
	r = xp_window_run(&collector, 1, run->app.target, &bounds, &run->window, &run->err);
	pthread_join(thread, NULL);
	return r;
}

static void run_ok(struct run *run, unsigned duration_ms)
{
	const struct xp_edge *edge = &run->plan.edges[0];
	const struct xp_correlate_request request = {
		.start = &run->plan.endpoints[edge->start],
		.end = &run->plan.endpoints[edge->end],
		.start_bit = 1u << edge->start,
		.end_bit = 1u << edge->end,
		.policy = edge->policy,
		.samples = run->plan.bounds.samples.set ? run->plan.bounds.samples.v : 0,
	};
	int r = run_window(run, duration_ms);

	if (r)
		print_error("%s: %s\n", xp_err_name(run->err.code), run->err.message);
	assert_int_equal(r, 0);
	xp_store_sort(xp_agent_exact_store(run->exact));
	assert_int_equal(xp_correlate(xp_agent_exact_store(run->exact), &request, &run->pairs, &run->err), 0);
}

static void end_run(struct run *run)
{
	xp_pairs_done(&run->pairs);
	xp_agent_exact_free(run->exact);
	xp_arena_free(run->arena);
	xp_err_done(&run->err);
	end_app(&run->app);
}

static struct xp_account account_of(const struct run *run, const char *source)
{
	size_t n;
	const struct xp_account *accounts = xp_agent_exact_accounts(run->exact, run->arena, &n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(accounts[i].source, source))
			return accounts[i];
	fail_msg("no account %s", source);
	return (struct xp_account){ 0 };
}

static void launch_to_kernel(void **state)
{
	struct run run;
	struct xp_agent_facts facts;

	start_run(&run, "cuda:runtime_api:cudaLaunchKernel:entry", "cuda:kernel_start:name~^k$", XP_POLICY_EXACT);
	run.lines[0] = "launch 8 307 k 300";
	run.lines[1] = "launch 2 101 other 300";
	run_ok(&run, 400);
	assert_int_equal(run.window.end, XP_END_DURATION);
	assert_int_equal(run.pairs.n, 8 * 307);
	assert_int_equal(run.pairs.unmatched_start, 2 * 101);
	assert_int_equal(run.pairs.unmatched_end, 0);
	assert_int_equal(run.pairs.alignment, XP_ALIGN_NORMALIZED);
	assert_int_equal(account_of(&run, "cupti_callback").emitted, 8 * 307 + 2 * 101);
	assert_int_equal(account_of(&run, "cupti_activity").delivered, 8 * 307);
	assert_int_equal(account_of(&run, "cupti_activity").filtered, 2 * 101);
	assert_int_equal(account_of(&run, "cupti_activity").dropped, 0);
	facts = xp_agent_exact_facts(run.exact);
	assert_int_equal(facts.counters.activities_seen, 8 * 307 + 2 * 101);
	assert_int_equal(facts.counters.api_launches, 8 * 307 + 2 * 101);
	assert_false(facts.collection_dead);
	assert_false(facts.correlation_unreliable);
	assert_true(facts.residual_ns_per_launch.set && facts.stall_ms.set);
	assert_true(facts.residual_ns_per_launch.v >= 1000 && facts.residual_ns_per_launch.v >= facts.counters.residual_ns);
	assert_true(facts.clock_error_ns >= 1500);
	assert_int_equal(run.window.cost.probe_events, 4 * (8 * 307 + 2 * 101)); /* runtime and driver call, entry and exit */
	const struct xp_event *event = xp_store_events(xp_agent_exact_store(run.exact));
	assert_int_equal(event->pid, run.app.pid);
	/* The process's first seconds of CUPTI: a wider bound. */
	for (uint64_t i = 0; i < xp_store_count(xp_agent_exact_store(run.exact)); i++)
		if (event[i].source == XP_SRC_CUPTI_ACTIVITY)
			assert_true(event[i].error_ns >= 10000 && event[i].error_ns < 1000000);
		else
			assert_true(event[i].error_ns <= 20000); /* beyond 10,000 the counter is given up */
	end_run(&run);
}

static void full_expressions_and_function_names(void **state)
{
	struct run run;

	start_run(&run, "cuda:kernel_start:name~g[ae]mm_\\d+$", "cuda:kernel_end:name~g[ae]mm_\\d+$", XP_POLICY_EXACT);
	run.lines[0] = "launch 2 53 gemm_1024 300";
	run.lines[1] = "launch 1 59 gamm_7x 300";
	run_ok(&run, 300);
	assert_int_equal(run.pairs.n, 106);
	assert_int_equal(account_of(&run, "cupti_activity").filtered, 2 * 59); /* start and end of each, by the tool */
	assert_int_equal(account_of(&run, "cupti_activity").emitted, 2 * 106 + 2 * 59);
	end_run(&run);

	start_run(&run, "cuda:kernel_start:function~^ns::scale$", "cuda:kernel_end:function~^ns::scale$", XP_POLICY_EXACT);
	run.lines[0] = "launch 1 61 _ZN2ns5scaleEPfi 300";
	run.lines[1] = "launch 1 67 _ZN2ns6scale2EPfi 300";
	run_ok(&run, 300);
	assert_int_equal(run.pairs.n, 61);
	end_run(&run);
}

static void samples_end_the_window(void **state)
{
	struct run run;

	start_run(&run, "cuda:driver_api:@launch:entry", "cuda:kernel_start", XP_POLICY_EXACT);
	run.plan.bounds.samples = (struct xp_opt_u64)XP_SOME(97);
	run.lines[0] = "launch 1 211 k 300";
	run_ok(&run, 15000);
	assert_int_equal(run.window.end, XP_END_SAMPLES);
	assert_int_equal(run.pairs.n, 97);
	assert_true(run.window.end_ns - run.window.start_ns < 5000000000ull);
	end_run(&run);
}

static void a_full_store_ends_the_window(void **state)
{
	struct run run;

	start_run(&run, "cuda:kernel_start", "cuda:kernel_end", XP_POLICY_STREAM_ORDER);
	run.plan.bounds.max_events = 1009;
	run.lines[0] = "launch 1 1009 k 300";
	assert_int_equal(run_window(&run, 15000), 0);
	assert_int_equal(run.window.end, XP_END_CAPACITY);
	assert_int_equal(xp_store_count(xp_agent_exact_store(run.exact)), 1009);
	assert_true(xp_agent_exact_observed(run.exact) > 1009);
	end_run(&run);
}

static void graph_launch_to_its_kernels(void **state)
{
	struct run run;

	start_run(&run, "cuda:driver_api:cuGraphLaunch:entry", "cuda:kernel_start", XP_POLICY_EXACT);
	run.lines[0] = "graph 31 7";
	run_ok(&run, 300);
	assert_int_equal(run.pairs.n, 31 * 7);
	assert_int_equal(run.pairs.one_to_many, 7);
	assert_int_equal(xp_agent_exact_facts(run.exact).counters.graph_launches, 7);
	end_run(&run);
}

static void a_dead_collection_is_told(void **state)
{
	struct run run;

	start_run(&run, "cuda:kernel_start", "cuda:kernel_end", XP_POLICY_EXACT);
	tell(&run.app, "set dead 1");
	run.lines[0] = "launch 1 211 k 300";
	assert_int_equal(run_window(&run, 400), 0);
	assert_true(xp_agent_exact_facts(run.exact).collection_dead);
	end_run(&run);
}

static void another_profiler_is_in_the_way(void **state)
{
	struct run run;

	start_run(&run, "cuda:kernel_start", "cuda:kernel_end", XP_POLICY_EXACT);
	tell(&run.app, "set busy 1");
	assert_int_equal(run_window(&run, 100), -XP_E_CUPTI_BUSY);
	assert_false(run.window.opened);
	end_run(&run);
}

static void an_unknown_api(void **state)
{
	struct run run;

	start_run(&run, "cuda:runtime_api:cudaNoSuch:entry", "cuda:kernel_end", XP_POLICY_FIRST_AFTER);
	assert_int_equal(run_window(&run, 100), -XP_E_INVALID_EVENT_SELECTOR);
	assert_string_equal(run.err.object, "cudaNoSuch");
	end_run(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(launch_to_kernel),
		cmocka_unit_test(full_expressions_and_function_names),
		cmocka_unit_test(samples_end_the_window),
		cmocka_unit_test(a_full_store_ends_the_window),
		cmocka_unit_test(graph_launch_to_its_kernels),
		cmocka_unit_test(a_dead_collection_is_told),
		cmocka_unit_test(another_profiler_is_in_the_way),
		cmocka_unit_test(an_unknown_api),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
