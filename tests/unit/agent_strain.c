/* SPDX-License-Identifier: Apache-2.0 */
/* The real agent where CUPTI cannot keep up: no request for a buffer is turned away, every loss is counted, and a capture ends in time. */
#include "agent_app.h"

#include <poll.h>

enum { FALLS = 3 };

/* A full buffer is given again, and what it held is counted: else CUPTI crashes before 12.9 and takes memory of its own later. */
static void buffers_never_run_out(void **state)
{
	static const unsigned versions[] = { 26, 130001 };

	for (size_t v = 0; v < XP_LEN(versions); v++) {
		struct app app;

		start_version(&app, versions[v]);
		want(&app, XP_CAPTURE_KERNEL_START, XP_AGENT_MATCH_ANY, NULL);
		app.request.capacity = 4096;
		arm(&app);
		begin(&app, "launch 8 30011 k 1");
		for (unsigned i = 0; i < 20; i++) {
			xp_agent_link_renew(app.link);
			usleep(50000);
		}
		for (bool done = false; !done;) {
			struct xp_agent_counters c = xp_agent_link_counters(app.link);

			drain(&app);
			done = c.activity_dropped > 0 || app.n > 0;
		}
		assert_int_equal(answer(&app), 0);
		stop(&app);
		assert_int_equal(app.counters.buffers_refused, 0);
		assert_true(app.counters.cupti_dropped > 0);
		assert_int_equal(app.counters.activities_seen + app.counters.cupti_dropped, 8 * 30011);
		end_app(&app);
	}
}

static void launch_until_it_ends(struct app *app)
{
	for (unsigned i = 0; i < 60 && xp_agent_link_state(app->link) != XP_AGENT_IDLE; i++) {
		begin(app, "launch 8 30011 k 1");
		for (bool answered = false; !answered;) {
			struct pollfd wait = { .fd = fileno(app->from), .events = POLLIN };

			xp_agent_link_renew(app->link);
			answered = poll(&wait, 1, 50) == 1;
		}
		assert_int_equal(answer(app), 0);
	}
}

/* The records that the flush loses have spoiled the result already; going on would cost the program memory. */
static void a_flush_that_loses_records_ends_the_capture(void **state)
{
	struct app app;

	start_version(&app, 130001);
	app.request.mode = XP_AGENT_AGGREGATE;
	app.request.capacity = 64;
	want(&app, XP_CAPTURE_KERNEL_START, XP_AGENT_MATCH_ANY, NULL);
	for (unsigned i = 0; i < FALLS; i++) {
		tell(&app, "set flush_ms 0");
		arm(&app);
		tell(&app, "set flush_ms 2000");
		launch_until_it_ends(&app);
		assert_int_equal(xp_agent_link_ended(app.link), XP_AGENT_ENDED_BEHIND);
		assert_int_equal(tell(&app, "get kernel_on"), 0);
		app.counters = xp_agent_link_counters(app.link);
		assert_true(app.counters.cupti_dropped > 0);
		assert_int_equal(app.counters.buffers_refused, 0);
	}
	/* In this process CUPTI stays slow; calls alone need no records of it. */
	assert_int_equal(try_arm(&app, &(struct xp_err){ 0 }), -XP_E_COLLECTION_DEAD);
	app.request.n_filters = 0;
	app.request.mode = XP_AGENT_EXACT;
	app.request.capacity = 4096;
	want(&app, XP_CAPTURE_API_ENTRY, XP_AGENT_MATCH_EXACT, "cuLaunchKernel");
	arm(&app);
	assert_int_equal(tell(&app, "launch 1 101 k 1"), 0);
	stop(&app);
	assert_int_equal(app.n, 101);
	end_app(&app);
}

/* A flush that takes long and loses nothing is no reason to end. */
static void a_slow_flush_alone_ends_nothing(void **state)
{
	struct app app;

	start_version(&app, 130001);
	want_kernels(&app);
	arm(&app);
	tell(&app, "set flush_ms 400");
	assert_int_equal(tell(&app, "launch 2 503 k 1"), 0);
	for (unsigned i = 0; i < 20; i++) {
		drain(&app);
		usleep(50000);
	}
	assert_int_equal(xp_agent_link_state(app.link), XP_AGENT_ARMED);
	tell(&app, "set flush_ms 0");
	stop(&app);
	assert_int_equal(app.of_kind[XP_CAPTURE_KERNEL_START], 2 * 503);
	assert_int_equal(app.counters.cupti_dropped, 0);
	end_app(&app);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffers_never_run_out),
		cmocka_unit_test(a_flush_that_loses_records_ends_the_capture),
		cmocka_unit_test(a_slow_flush_alone_ends_nothing),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
