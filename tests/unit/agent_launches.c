/* SPDX-License-Identifier: Apache-2.0 */
/* Launches around a capture: what it leaves on each is measured by those before and behind it; those that make nodes are none. */
#include "agent_app.h"

enum { LEFT_NS = 3000 };

static void capture(struct app *app)
{
	memset(&app->request, 0, sizeof(app->request));
	want_kernels(app);
	arm(app);
	usleep(50000);
	stop(app);
}

/* The fake leaves that much behind on each launch from the first kind on. */
static void what_stays_is_measured(void **state)
{
	struct app app;

	start_app(&app, 13);
	tell(&app, "set residual_ns %d", LEFT_NS);
	tell(&app, "loop 1 100");
	for (unsigned i = 0; i < 3; i++) {
		capture(&app);
		assert_true(app.counters.residual_launches >= 50);
		assert_in_range(app.counters.residual_ns, LEFT_NS * 8 / 10, LEFT_NS * 3 / 2);
	}
	tell(&app, "end");
	end_app(&app);
}

/* Calls that the timing begins or ends within, and everything else, are as exact as ever. */
static void timing_disturbs_no_count(void **state)
{
	struct app app;

	start_app(&app, 13);
	want(&app, XP_CAPTURE_API_ENTRY, XP_AGENT_MATCH_EXACT, "cuLaunchKernel");
	want(&app, XP_CAPTURE_API_EXIT, XP_AGENT_MATCH_EXACT, "cuLaunchKernel");
	want_kernels(&app);
	arm(&app);
	tell(&app, "launch 8 503 k 500");
	stop(&app);
	assert_int_equal(app.n, 4 * 8 * 503);
	assert_int_equal(app.counters.late_exits, 0);
	/* Nothing was launched around the capture, so nothing is told of it. */
	assert_int_equal(app.counters.residual_launches, 0);
	check_books(&app);
	end_app(&app);
}

/* Launches into a stream that is being captured make nodes, no kernels: nothing is waited for, and they are no launches. */
static void captured_launches_have_no_kernel(void **state)
{
	struct app app;

	start_app(&app, 13);
	want_kernels(&app);
	arm(&app);
	tell(&app, "capture 24");
	tell(&app, "launch 2 31 k 500");
	stop(&app);
	assert_int_equal(app.counters.api_launches, 62);
	assert_int_equal(app.counters.in_flight, 0);
	assert_int_equal(app.of_kind[XP_CAPTURE_KERNEL_START], 62);
	assert_true(app.counters.stop_ns < app.request.wait_ms * 500000ull);
	end_app(&app);
}

/* A capture of calls alone leaves nothing, and times nothing. */
static void calls_alone(void **state)
{
	struct app app;

	start_app(&app, 13);
	tell(&app, "loop 1 100");
	want(&app, XP_CAPTURE_API_ENTRY, XP_AGENT_MATCH_EXACT, "cuLaunchKernel");
	arm(&app);
	usleep(50000);
	stop(&app);
	assert_int_equal(app.counters.residual_launches, 0);
	tell(&app, "end");
	end_app(&app);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_stays_is_measured),
		cmocka_unit_test(timing_disturbs_no_count),
		cmocka_unit_test(captured_launches_have_no_kernel),
		cmocka_unit_test(calls_alone),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
