/* SPDX-License-Identifier: Apache-2.0 */
/* Every way in which an open window ends, and what the loop sees meanwhile, with fake collectors on real targets. */
#include "../lib/window.c"

static void collectors_end_the_window(void **state)
{
	struct setup s;

	fresh(&s);
	s.bounds.duration_ms = 0;
	s.fake[1].end_after = 2;
	s.fake[1].end = XP_END_SAMPLES;
	run_on(&s, getpid());
	assert_int_equal(s.result, 0);
	assert_int_equal(s.window.end, XP_END_SAMPLES);
	assert_int_equal(s.fake[1].drains, 2);
	finish(&s);
}

static void timeout_ends_the_window(void **state)
{
	struct setup s;

	fresh(&s);
	s.bounds.duration_ms = 0;
	s.bounds.timeout_ms = 30;
	run_on(&s, getpid());
	assert_int_equal(s.window.end, XP_END_TIMEOUT);
	assert_true(s.window.opened);
	finish(&s);
}

static pid_t child_that(void (*action)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		action();
		_exit(0);
	}
	return pid;
}

static void sleep_long(void)
{
	sleep(30);
}

static void burn(void)
{
	alarm(30);
	for (;;)
		__asm__ volatile("pause");
}

static void exec_soon(void)
{
	usleep(150000);
	execl("/bin/sleep", "sleep", "30", NULL);
}

static void target_that_dies_ends_the_window_early(void **state)
{
	struct setup s;
	pid_t pid = child_that(sleep_long);

	fresh(&s);
	s.bounds.duration_ms = 20000;
	s.fake[0].kill_at_open = pid;
	run_on(&s, pid);
	assert_int_equal(s.result, 0);
	assert_int_equal(s.window.end, XP_END_TARGET_GONE);
	assert_true(s.window.end_ns - s.window.start_ns < UINT64_C(10000000000));
	assert_string_equal(steps, "p1 p2 a1 a2 o1 o2 c1 c2 x2 x1 ");
	waitpid(pid, NULL, 0);
	finish(&s);
}

static void cost_limit_ends_the_window(void **state)
{
	struct setup s;
	pid_t pid = child_that(burn);

	fresh(&s);
	s.bounds.duration_ms = 20000;
	s.bounds.max_cost = 0.05;
	s.fake[0].cost_ns = UINT64_C(4000000000);
	s.fake[0].events = 1009;
	run_on(&s, pid);
	assert_int_equal(s.window.end, XP_END_COST);
	assert_true(s.window.cost.limit_reached);
	assert_int_equal(s.window.cost.probe_events, 1009);
	assert_int_equal(s.window.cost.probe_floor_ns.v, 731);
	assert_true(s.window.cost.cpu_share.set && s.window.cost.cpu_share.v > 0.05);
	assert_true(s.window.end_ns - s.window.start_ns >= 200000000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	finish(&s);

	/* Without a limit the same cost goes on to the end. */
	pid = child_that(burn);
	fresh(&s);
	s.bounds.duration_ms = 320;
	s.fake[0].cost_ns = UINT64_C(4000000000);
	run_on(&s, pid);
	assert_int_equal(s.window.end, XP_END_DURATION);
	assert_false(s.window.cost.limit_reached);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	finish(&s);
}

static void execve_is_seen(void **state)
{
	struct setup s;
	pid_t pid = child_that(exec_soon);

	fresh(&s);
	s.bounds.duration_ms = 400;
	run_on(&s, pid);
	assert_int_equal(s.window.end, XP_END_DURATION);
	assert_true(s.window.exec_seen);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	finish(&s);
}

/* A descriptor that stays readable must wake the loop once, not spin it. */
static void readable_descriptor_wakes_once(void **state)
{
	struct setup s;

	fresh(&s);
	s.bounds.duration_ms = 50;
	s.fake[0].wake_fd = eventfd(1, EFD_CLOEXEC);
	run_on(&s, getpid());
	assert_true(s.fake[0].drains >= 2);
	assert_true(s.fake[0].drains <= 8);
	close(s.fake[0].wake_fd);
	finish(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(collectors_end_the_window),
		cmocka_unit_test(timeout_ends_the_window),
		cmocka_unit_test(target_that_dies_ends_the_window_early),
		cmocka_unit_test(cost_limit_ends_the_window),
		cmocka_unit_test(execve_is_seen),
		cmocka_unit_test(readable_descriptor_wakes_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
