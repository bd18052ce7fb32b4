/* SPDX-License-Identifier: Apache-2.0 */
/* The real agent in a program with the fake CUDA: exact captures, counted to the last record. */
#include "agent_app.h"

static void kernels_of_eight_threads(void **state)
{
	struct app app;

	start_app(&app, 13);
	want_kernels(&app);
	want(&app, XP_CAPTURE_API_ENTRY, XP_AGENT_MATCH_EXACT, "cuLaunchKernel");
	want(&app, XP_CAPTURE_API_EXIT, XP_AGENT_MATCH_EXACT, "cuLaunchKernel");
	arm(&app);
	tell(&app, "launch 8 1009 a_kernel 700");
	stop(&app);
	assert_int_equal(app.of_kind[XP_CAPTURE_KERNEL_START], 8 * 1009);
	assert_int_equal(app.of_kind[XP_CAPTURE_KERNEL_END], 8 * 1009);
	assert_int_equal(app.of_kind[XP_CAPTURE_API_ENTRY], 8 * 1009);
	assert_int_equal(app.of_kind[XP_CAPTURE_API_EXIT], 8 * 1009);
	assert_int_equal(app.counters.api_launches, 8 * 1009);
	assert_int_equal(app.counters.activities_seen, 8 * 1009);
	assert_int_equal(app.counters.callbacks, 2 * 8 * 1009);
	assert_int_equal(app.counters.in_flight, 0);
	assert_int_equal(app.counters.launch_unknown, 0);
	assert_int_equal(app.counters.duplicate_ids, 0);
	assert_int_equal(app.counters.cupti_dropped, 0);
	assert_int_equal(app.counters.contexts, 1);
	check_books(&app);
	assert_int_equal(tell(&app, "get freed_early"), 0);
	end_app(&app);
}

static void a_record_is_what_cupti_said(void **state)
{
	struct app app;
	uint64_t from_ns, to_ns, kernel_ns = 0;

	start_app(&app, 13);
	want_kernels(&app);
	want(&app, XP_CAPTURE_MEMCPY_START, XP_AGENT_MATCH_ANY, NULL);
	want(&app, XP_CAPTURE_MEMSET_END, XP_AGENT_MATCH_ANY, NULL);
	arm(&app);
	from_ns = now_ns();
	tell(&app, "launch 1 1 the_name 70000");
	tell(&app, "memcpy 1 2 3 5000000000 1");
	tell(&app, "memset 1");
	to_ns = now_ns();
	stop(&app);
	assert_int_equal(app.n, 4);
	for (unsigned i = 0; i < app.n; i++) {
		const struct xp_capture_event_5 *r = &app.records[i];

		assert_int_equal(r->event.pid, app.pid);
		assert_int_equal(r->event.tid, 0);
		assert_int_equal(r->event.device, 0);
		assert_int_equal(r->event.context, 1);
		if (r->event.kind == XP_CAPTURE_KERNEL_START) {
			kernel_ns = r->event.t_ns;
			assert_true(r->event.t_ns > from_ns && r->event.t_ns < to_ns + 1000000);
			assert_int_equal(r->event.grid[0] * 100 + r->event.grid[1] * 10 + r->event.grid[2], 357);
			assert_int_equal(r->event.block[0] * 10000 + r->event.block[1] * 100 + r->event.block[2], 111317);
			assert_int_equal(app.names[r->name - 1].length, strlen("the_name"));
			assert_memory_equal(app.names[r->name - 1].text, "the_name", strlen("the_name"));
			assert_int_equal(r->flags, XP_CAPTURE_NAME_COMPLETE);
		} else if (r->event.kind == XP_CAPTURE_KERNEL_END) {
			assert_int_equal(r->event.t_ns - kernel_ns, 70000);
		} else if (r->event.kind == XP_CAPTURE_MEMCPY_START) {
			assert_int_equal((uint64_t)r->event.grid[1] << 32 | r->event.grid[0], 5000000000ull);
			assert_int_equal(r->event.grid[2], 1);
			assert_int_equal(r->src_memory, 2);
			assert_int_equal(r->dst_memory, 3);
		} else {
			assert_int_equal(r->event.kind, XP_CAPTURE_MEMSET_END);
			assert_int_equal(r->event.block[0], 7);
		}
	}
	end_app(&app);
}

static unsigned kernels_with(struct app *app, uint32_t match, const char *name)
{
	memset(&app->request, 0, sizeof(app->request));
	want(app, XP_CAPTURE_KERNEL_END, match, name);
	arm(app);
	tell(app, "launch 2 31 gemm_f16 100");
	tell(app, "launch 3 17 gemm_f32 100");
	tell(app, "launch 1 7 xgemm_f16_tail 100");
	stop(app);
	check_books(app);
	assert_int_equal(app->counters.filtered + app->n, 2 * 31 + 3 * 17 + 7);
	return app->n;
}

static void filters(void **state)
{
	struct app app;

	start_app(&app, 13);
	assert_int_equal(kernels_with(&app, XP_AGENT_MATCH_EXACT, "gemm_f16"), 62);
	assert_int_equal(kernels_with(&app, XP_AGENT_MATCH_EXACT, "gemm"), 0);
	assert_int_equal(kernels_with(&app, XP_AGENT_MATCH_PREFIX, "gemm"), 62 + 51);
	assert_int_equal(kernels_with(&app, XP_AGENT_MATCH_SUFFIX, "f32"), 51);
	assert_int_equal(kernels_with(&app, XP_AGENT_MATCH_CONTAINS, "gemm_f16"), 62 + 7);
	assert_int_equal(kernels_with(&app, XP_AGENT_MATCH_ANY, NULL), 62 + 51 + 7);
	end_app(&app);
}

static void copies_by_direction(void **state)
{
	struct app app;

	start_app(&app, 13);
	want(&app, XP_CAPTURE_MEMCPY_START, XP_AGENT_MATCH_ANY, NULL);
	app.request.filters[0].copy_kind = 2;
	arm(&app);
	tell(&app, "memcpy 1 1 3 4096 11");
	tell(&app, "memcpy 2 3 2 4096 13");
	tell(&app, "launch 1 5 k 10");
	stop(&app);
	assert_int_equal(app.n, 13);
	assert_int_equal(app.counters.filtered, 11);
	/* Launches have no record here: none is listened on, and the stop waits for none. */
	assert_int_equal(app.counters.callbacks, 0);
	assert_int_equal(app.counters.in_flight, 0);
	end_app(&app);
}

/* Names of every length: whole up to the limit, cut and said to be cut beyond it. */
static void long_names(void **state)
{
	static const unsigned lengths[] = { 127, 128, 4096, 70000 };
	struct app app;

	start_app(&app, 13);
	want(&app, XP_CAPTURE_KERNEL_START, XP_AGENT_MATCH_ANY, NULL);
	arm(&app);
	for (unsigned i = 0; i < 4; i++)
		tell(&app, "launch 2 3 %u 10", lengths[i]);
	stop(&app);
	assert_int_equal(app.n, 4 * 6);
	assert_int_equal(app.n_names, 4);
	for (unsigned i = 0; i < app.n; i++) {
		const struct xp_capture_event_5 *r = &app.records[i];
		unsigned which = (unsigned)app.names[r->name - 1].text[0] - 'a';

		assert_int_equal(app.names[r->name - 1].length, which == 3 ? XP_AGENT_NAME_MAX : lengths[which]);
		assert_int_equal(!!(r->flags & XP_CAPTURE_NAME_COMPLETE), which != 3);
	}
	end_app(&app);
}

static void odd_times_are_counted_and_kept_out(void **state)
{
	struct app app;

	start_app(&app, 13);
	want_kernels(&app);
	tell(&app, "set zero_every 7");
	tell(&app, "set negative_every 11");
	arm(&app);
	tell(&app, "launch 1 1001 k 10");
	stop(&app);
	/* 143 zero, 91 negative, 13 of them both: those are negative with end 0. */
	assert_int_equal(app.counters.invalid_times, 143 + 91 - 13);
	assert_int_equal(app.of_kind[XP_CAPTURE_KERNEL_START], 1001 - 221);
	assert_int_equal(app.counters.in_flight, 0);
	check_books(&app);
	end_app(&app);
}

/* A kernel that was launched behind the window is no part of it, whatever became of its times. */
static void odd_times_behind_the_window_are_not_its_own(void **state)
{
	struct app app;

	start_app(&app, 13);
	want_kernels(&app);
	tell(&app, "set zero_every 1");
	arm(&app);
	tell(&app, "launch 1 7 k 10");
	usleep(5000);
	xp_agent_link_window(app.link, 1, now_ns());
	tell(&app, "launch 1 11 k 10");
	usleep(5000);
	xp_agent_link_send(app.link, XP_AGENT_STOP, NULL);
	assert_true(wait_answer(&app, 10000));
	drain(&app);
	app.counters = xp_agent_link_counters(app.link);
	assert_int_equal(app.counters.invalid_times, 7);
	assert_int_equal(app.counters.outside, 11);
	assert_int_equal(app.counters.activities_seen, 7 + 11);
	check_books(&app);
	end_app(&app);
}

static void losses_apart(void **state)
{
	struct app app;

	start_app(&app, 13);
	want(&app, XP_CAPTURE_KERNEL_START, XP_AGENT_MATCH_ANY, NULL);
	app.request.wait_ms = 100;
	tell(&app, "set drop_every 13");
	arm(&app);
	tell(&app, "launch 1 1300 k 10");
	stop(&app);
	assert_int_equal(app.counters.cupti_dropped, 100);
	assert_int_equal(app.n, 1200);
	assert_int_equal(app.counters.activity_dropped, 0);
	assert_int_equal(app.counters.in_flight, 100);
	tell(&app, "set drop_every 0");

	/* A ring that nobody empties: 64 records stay, the agent counts the others. */
	app.request.capacity = 64;
	memset(app.request.filters, 0, sizeof(app.request.filters));
	app.request.n_filters = 0;
	want(&app, XP_CAPTURE_API_ENTRY, XP_AGENT_MATCH_LAUNCH, NULL);
	app.request.filters[0].domain = 2;
	arm(&app);
	tell(&app, "launch 1 1009 k 10");
	stop(&app);
	assert_int_equal(app.n, 64);
	assert_int_equal(app.counters.callback_dropped, 1009 - 64);
	end_app(&app);
}

static void api_names_are_folded(void **state)
{
	struct app app;
	xp_auto_err err = { 0 };

	start_app(&app, 13);
	want(&app, XP_CAPTURE_API_ENTRY, XP_AGENT_MATCH_EXACT, "cudaLaunchKernel");
	want(&app, XP_CAPTURE_API_EXIT, XP_AGENT_MATCH_EXACT, "cudaDeviceSynchronize");
	arm(&app);
	tell(&app, "launch 2 53 k 10");
	tell(&app, "driver 19");
	tell(&app, "sync 5");
	stop(&app);
	assert_int_equal(app.of_kind[XP_CAPTURE_API_ENTRY], 106);
	assert_int_equal(app.of_kind[XP_CAPTURE_API_EXIT], 1);
	assert_int_equal(app.counters.api_launches, 0); /* no activity is wanted, so launches are not listened on */
	for (unsigned i = 0; i < app.n; i++)
		assert_true(app.records[i].event.tid != 0 && app.records[i].event.callback_domain == 2);
	app.request.n_filters = 0;
	want(&app, XP_CAPTURE_API_ENTRY, XP_AGENT_MATCH_EXACT, "cudaNoSuchCall");
	assert_int_equal(try_arm(&app, &err), -XP_E_INVALID_EVENT_SELECTOR);
	end_app(&app);
}

/* One launch, many kernels; a graph made before the capture is told from one made in it. Failed launches have no record to wait for. */
static void graphs(void **state)
{
	struct app app;
	unsigned predates = 0, nodes = 0;

	start_app(&app, 13);
	want(&app, XP_CAPTURE_KERNEL_START, XP_AGENT_MATCH_ANY, NULL);
	arm(&app);
	tell(&app, "graph 31 7");
	tell(&app, "old 3");
	tell(&app, "fail 11");
	stop(&app);
	assert_int_equal(app.n, 31 * 7 + 5 * 3);
	assert_int_equal(app.counters.graph_launches, 10);
	assert_int_equal(app.counters.graph_predates, 15);
	assert_int_equal(app.counters.in_flight, 0);
	assert_int_equal(app.counters.api_launches, 11);
	for (unsigned i = 0; i < app.n; i++) {
		predates += !!(app.records[i].flags & XP_CAPTURE_GRAPH_PREDATES);
		nodes += app.records[i].flags & XP_CAPTURE_IN_GRAPH;
		assert_int_equal(app.records[i].graph_node >> 32, app.records[i].graph);
	}
	assert_int_equal(predates, 15);
	assert_int_equal(nodes, app.n);
	end_app(&app);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_of_eight_threads),
		cmocka_unit_test(a_record_is_what_cupti_said),
		cmocka_unit_test(filters),
		cmocka_unit_test(copies_by_direction),
		cmocka_unit_test(long_names),
		cmocka_unit_test(odd_times_are_counted_and_kept_out),
		cmocka_unit_test(odd_times_behind_the_window_are_not_its_own),
		cmocka_unit_test(losses_apart),
		cmocka_unit_test(api_names_are_folded),
		cmocka_unit_test(graphs),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
