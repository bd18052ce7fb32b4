/* SPDX-License-Identifier: Apache-2.0 */
/* A host function and GPU work in one window: uprobe records and the agent's in one store, on one clock, counted by primes. */
#include "../unit/agent_app.h"

#include <pthread.h>

#include "base/arena.h"
#include "collect/agent_exact.h"
#include "correlate/correlate.h"
#include "plan/build.h"

enum { LAUNCHES = 1009 };

static void *work(void *arg)
{
	usleep(80000);
	tell(arg, "launch 1 %d k 3000", LAUNCHES);
	return NULL;
}

static void host_function_to_kernel(void **state)
{
	const struct xp_agent_options options = { .session = "xp_test" };
	const struct xp_window_bounds bounds = { .duration_ms = 600, .timeout_ms = 20000 };
	const struct xp_plan_options judged = { .try_rights = false };
	struct xp_arena *arena = xp_arena_new();
	struct xp_agent_exact *cuda;
	struct xp_collector collectors[2];
	struct xp_exact *host;
	struct xp_window window;
	struct xp_pairs pairs;
	struct xp_plan plan;
	struct app app;
	pthread_t thread;
	xp_auto_err err = { 0 };
	unsigned start, end;
	size_t n;

	if (geteuid()) {
		print_message("SKIP: uprobes want root\n");
		skip();
	}
	start_app(&app, 13);
	xp_agent_link_close(app.link);
	app.link = NULL;
	xp_plan_init(&plan, app.target, arena);
	plan.bounds = (struct xp_bounds){ .timeout_ms = 20000, .max_events = 100000, .max_unmatched = -1 };
	assert_int_equal(xp_plan_endpoint(&plan, "uprobe:" FAKE "13/libcudart.so.13:fake_launch:entry", "start", &start, &err), 0);
	assert_int_equal(xp_plan_endpoint(&plan, "cuda:kernel_start:name~^k$", "end", &end, &err), 0);
	assert_int_equal(xp_plan_resolve(&plan, start, "start", &judged, &err), 0);
	assert_int_equal(plan.n_issues, 0);
	plan.edges[plan.n_edges++] = (struct xp_edge){ .start = start, .end = end, .policy = XP_POLICY_FIRST_AFTER };

	assert_int_equal(xp_exact_new(&plan, &host, &err), 0);
	assert_int_equal(xp_agent_exact_new(&plan, &options, host, &cuda, &err), 0);
	collectors[0] = xp_exact_collector(host);
	collectors[1] = xp_agent_exact_collector(cuda);
	pthread_create(&thread, NULL, work, &app);
	int r = xp_window_run(collectors, 2, app.target, &bounds, &window, &err);
	pthread_join(thread, NULL);
	if (r)
		print_error("%s: %s\n", xp_err_name(err.code), err.message);
	assert_int_equal(r, 0);

	struct xp_store *store = xp_exact_store(host);
	xp_store_sort(store);
	assert_int_equal(xp_store_count(store), 2 * LAUNCHES);
	const struct xp_correlate_request request = {
		.start = &plan.endpoints[start],
		.end = &plan.endpoints[end],
		.start_bit = 1u << start,
		.end_bit = 1u << end,
		.policy = XP_POLICY_FIRST_AFTER,
	};
	assert_int_equal(xp_correlate(store, &request, &pairs, &err), 0);
	/* The first launch comes before the first kernel, and each kernel starts 2 us or more behind its own launch. */
	assert_true(pairs.n > 0 && pairs.n <= LAUNCHES);
	assert_int_equal(pairs.alignment, XP_ALIGN_NORMALIZED);
	assert_int_equal(pairs.start_events, LAUNCHES);
	assert_int_equal(pairs.end_events, LAUNCHES);
	assert_int_equal(xp_agent_exact_accounts(cuda, arena, &n)->delivered, LAUNCHES);
	assert_int_equal(xp_exact_accounts(host, arena, &n)->delivered, LAUNCHES);
	const struct xp_event *events = xp_store_events(store);
	uint64_t launches = 0, kernels = 0;
	for (unsigned i = 0; i < 2 * LAUNCHES; i++) {
		launches += events[i].type == XP_EV_HOST_FUNCTION_ENTRY;
		kernels += events[i].type == XP_EV_GPU_KERNEL_START;
		assert_true(kernels <= launches);
		assert_int_equal(events[i].sequence, i);
	}
	xp_pairs_done(&pairs);
	xp_agent_exact_free(cuda);
	xp_exact_free(host);
	xp_arena_free(arena);
	end_app(&app);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(host_function_to_kernel) };

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
