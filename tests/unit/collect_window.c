/* SPDX-License-Identifier: Apache-2.0 */
/* The window with fake collectors: order of the steps, and failures in each of them. */
#include "../lib/window.c"

static void arms_forwards_disarms_backwards(void **state)
{
	struct setup s;

	fresh(&s);
	run_on(&s, getpid());
	assert_int_equal(s.result, 0);
	assert_string_equal(steps, "p1 p2 a1 a2 o1 o2 c1 c2 x2 x1 ");
	assert_int_equal(s.window.end, XP_END_DURATION);
	assert_true(s.window.opened);
	assert_true(s.window.end_ns - s.window.start_ns >= 20000000);
	assert_int_equal(s.window.children, 6);
	assert_int_equal(s.window.cost.probe_floor_ns.v, 7);
	finish(&s);
}

static void failed_arm_leaves_nothing_armed(void **state)
{
	struct setup s;

	fresh(&s);
	s.fake[1].fails_at = 'a';
	s.fake[1].code = XP_E_PROBE_REFUSED;
	run_on(&s, getpid());
	assert_int_equal(s.result, -XP_E_PROBE_REFUSED);
	assert_string_equal(steps, "p1 p2 a1 a2 x2 x1 ");
	assert_false(s.window.opened);
	finish(&s);
}

static void failed_prepare_touches_nothing(void **state)
{
	struct setup s;

	fresh(&s);
	s.fake[0].fails_at = 'p';
	run_on(&s, getpid());
	assert_int_equal(s.result, -XP_E_INTERNAL);
	assert_string_equal(steps, "p1 ");
	finish(&s);
}

static void optional_collectors_are_taken_out(void **state)
{
	struct setup s;

	fresh(&s);
	s.collectors[0].optional = true;
	s.fake[0].fails_at = 'p';
	run_on(&s, getpid());
	assert_int_equal(s.result, 0);
	assert_string_equal(steps, "p1 p2 a2 o2 c2 x2 ");
	assert_true(s.collectors[0].out);
	assert_int_equal(s.collectors[0].err.code, XP_E_INTERNAL);
	finish(&s);

	fresh(&s);
	s.collectors[0].optional = true;
	s.fake[0].fails_at = 'a';
	run_on(&s, getpid());
	assert_int_equal(s.result, 0);
	assert_string_equal(steps, "p1 p2 a1 x1 a2 o2 c2 x2 ");
	finish(&s);

	fresh(&s);
	s.collectors[1].optional = true;
	s.fake[1].fails_at = 'd';
	run_on(&s, getpid());
	assert_int_equal(s.result, 0);
	assert_int_equal(s.window.end, XP_END_DURATION);
	assert_string_equal(steps, "p1 p2 a1 a2 o1 o2 c2 c1 c2 x2 x1 ");
	assert_int_equal(s.fake[1].drains, 1);
	finish(&s);
}

static void failing_drain_ends_the_window(void **state)
{
	struct setup s;

	fresh(&s);
	s.bounds.duration_ms = 4000;
	s.fake[0].fails_at = 'd';
	run_on(&s, getpid());
	assert_int_equal(s.result, -XP_E_INTERNAL);
	assert_int_equal(s.window.end, XP_END_FAILED);
	assert_string_equal(steps, "p1 p2 a1 a2 o1 o2 c1 c2 x2 x1 ");
	finish(&s);
}

static void cleanup_failure_outranks_and_names_the_hidden_one(void **state)
{
	struct setup s;

	fresh(&s);
	s.fake[0].fails_at = 'x';
	s.fake[0].code = XP_E_CLEANUP_FAILED;
	s.fake[1].fails_at = 'a';
	s.fake[1].code = XP_E_PERMISSION_DENIED;
	run_on(&s, getpid());
	assert_int_equal(s.result, -XP_E_CLEANUP_FAILED);
	assert_string_equal(json_string_value(json_object_get(s.err.details, "original_error_code")), "PERMISSION_DENIED");
	finish(&s);
}

static void not_ready_in_time_is_an_error(void **state)
{
	struct setup s;

	fresh(&s);
	s.bounds.timeout_ms = 0;
	run_on(&s, getpid());
	assert_int_equal(s.result, -XP_E_SESSION_LIMIT_EXCEEDED);
	assert_string_equal(steps, "p1 p2 a1 x1 ");
	assert_non_null(json_object_get(s.err.details, "limit"));
	finish(&s);
}

static void signal_before_the_window_arms_nothing(void **state)
{
	struct setup s;

	fresh(&s);
	interrupts = 1;
	run_on(&s, getpid());
	assert_int_equal(s.result, 0);
	assert_int_equal(s.window.end, XP_END_SIGNAL);
	assert_false(s.window.opened);
	assert_string_equal(steps, "p1 p2 ");
	interrupts = 0;
	finish(&s);
}

static void steps_back_behind_the_capture(void **state)
{
	assert_int_equal(getpriority(PRIO_PROCESS, 0), 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arms_forwards_disarms_backwards), cmocka_unit_test(failed_arm_leaves_nothing_armed),
		cmocka_unit_test(failed_prepare_touches_nothing),  cmocka_unit_test(optional_collectors_are_taken_out),
		cmocka_unit_test(failing_drain_ends_the_window),   cmocka_unit_test(cleanup_failure_outranks_and_names_the_hidden_one),
		cmocka_unit_test(not_ready_in_time_is_an_error),   cmocka_unit_test(signal_before_the_window_arms_nothing),
		cmocka_unit_test(steps_back_behind_the_capture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
