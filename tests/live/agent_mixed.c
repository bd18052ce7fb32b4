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
	wait_window(arg);
	tell(arg, "launch 1 %d k 3000", LAUNCHES);
	return NULL;
}

struct mixed {
	struct app app;
	struct xp_arena *arena;
	struct xp_plan plan;
	struct xp_exact *host;
	struct xp_agent_exact *cuda;
	struct xp_window window;
	struct xp_err err;
};

static void make_plan(struct mixed *m)
{
	const struct xp_plan_options options = { .try_rights = false };
	unsigned start, end;

	xp_plan_init(&m->plan, m->app.target, m->arena);
	m->plan.bounds = (struct xp_bounds){ .timeout_ms = 20000, .max_events = 100000, .max_unmatched = -1 };
	assert_int_equal(xp_plan_endpoint(&m->plan, "uprobe:" FAKE "13/libcudart.so.13:fake_launch:entry", "start", &start, &m->err), 0);
	assert_int_equal(xp_plan_endpoint(&m->plan, "cuda:kernel_start:name~^k$", "end", &end, &m->err), 0);
	assert_int_equal(xp_plan_resolve(&m->plan, start, "start", &options, &m->err), 0);
	assert_int_equal(m->plan.n_issues, 0);
	m->plan.edges[m->plan.n_edges++] = (struct xp_edge){ .start = start, .end = end, .policy = XP_POLICY_FIRST_AFTER };
}

static void run_window(struct mixed *m)
{
	const struct xp_agent_options options = { .session = "xp_test" };
	const struct xp_window_bounds bounds = { .duration_ms = 600, .timeout_ms = 20000 };
	struct xp_collector collectors[2];
	pthread_t thread;

	assert_int_equal(xp_exact_new(&m->plan, &m->host, &m->err), 0);
	assert_int_equal(xp_agent_exact_new(&m->plan, &options, m->host, &m->cuda, &m->err), 0);
	collectors[0] = xp_exact_collector(m->host);
	collectors[1] = xp_agent_exact_collector(m->cuda);
	pthread_create(&thread, NULL, work, &m->app);
	int r = xp_window_run(collectors, 2, m->app.target, &bounds, &m->window, &m->err);
	pthread_join(thread, NULL);
	if (r)
		print_error("%s: %s\n", xp_err_name(m->err.code), m->err.message);
	assert_int_equal(r, 0);
}

/* Each kernel starts 2 us or more behind its own launch, so at no moment are there more kernels than launches. */
static void check_order(struct xp_store *store)
{
	const struct xp_event *events = xp_store_events(store);
	uint64_t launches = 0, kernels = 0;

	assert_int_equal(xp_store_count(store), 2 * LAUNCHES);
	for (unsigned i = 0; i < 2 * LAUNCHES; i++) {
		launches += events[i].type == XP_EV_HOST_FUNCTION_ENTRY;
		kernels += events[i].type == XP_EV_GPU_KERNEL_START;
		assert_true(kernels <= launches);
		assert_int_equal(events[i].sequence, i);
	}
	assert_int_equal(launches, LAUNCHES);
	assert_int_equal(kernels, LAUNCHES);
}

static void host_function_to_kernel(void **state)
{
	struct mixed m = { .arena = xp_arena_new() };
	struct xp_pairs pairs;
	size_t n;

	if (geteuid()) {
		print_message("SKIP: uprobes want root\n");
		skip();
	}
	start_app(&m.app, 13);
	xp_agent_link_close(m.app.link);
	m.app.link = NULL;
	make_plan(&m);
	run_window(&m);
	xp_store_sort(xp_exact_store(m.host));
	check_order(xp_exact_store(m.host));
	const struct xp_correlate_request request = {
		.start = &m.plan.endpoints[0], .end = &m.plan.endpoints[1], .start_bit = 1, .end_bit = 2, .policy = XP_POLICY_FIRST_AFTER
	};
	assert_int_equal(xp_correlate(xp_exact_store(m.host), &request, &pairs, &m.err), 0);
	assert_true(pairs.n > 0 && pairs.n <= LAUNCHES);
	assert_int_equal(pairs.alignment, XP_ALIGN_NORMALIZED);
	assert_int_equal(xp_agent_exact_accounts(m.cuda, m.arena, &n)->delivered, LAUNCHES);
	assert_int_equal(xp_exact_accounts(m.host, m.arena, &n)->delivered, LAUNCHES);
	xp_pairs_done(&pairs);
	xp_agent_exact_free(m.cuda);
	xp_exact_free(m.host);
	xp_arena_free(m.arena);
	end_app(&m.app);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(host_function_to_kernel) };

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
