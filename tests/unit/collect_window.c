/* SPDX-License-Identifier: Apache-2.0 */
/* The window with fake collectors on real processes: order of the steps, every way to end, failures in each step, the cost account. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/collector.h"

static int interrupts;
int xp_interrupts(void)
{
	return interrupts;
}

static char steps[256]; /* one letter and the collector's name a step, in the order of the calls */

struct fake {
	char name;
	char fails_at; /* letter of the step that fails */
	enum xp_err_code code;
	int end_after; /* drains until `end` is wanted; -1 never */
	enum xp_window_end end;
	int drains, wake_fd;
	uint64_t cost_ns, events;
	pid_t kill_at_open;
};

static int note(struct fake *fake, char step, struct xp_err *reterr)
{
	size_t len = strlen(steps);

	snprintf(steps + len, sizeof(steps) - len, "%c%c ", step, fake->name);
	return fake->fails_at == step ? xp_fail(reterr, fake->code, "step %c of %c", step, fake->name) : 0;
}

static int fake_prepare(void *state, struct xp_err *reterr)
{
	return note(state, 'p', reterr);
}

static int fake_arm(void *state, struct xp_err *reterr)
{
	return note(state, 'a', reterr);
}

static int fake_open(void *state, uint64_t start_ns, struct xp_err *reterr)
{
	struct fake *fake = state;

	if (fake->kill_at_open)
		kill(fake->kill_at_open, SIGKILL);
	return note(fake, 'o', reterr);
}

static int fake_drain(void *state, struct xp_err *reterr)
{
	struct fake *fake = state;

	fake->drains++;
	return fake->fails_at == 'd' ? xp_fail(reterr, fake->code, "drain") : 0;
}

static void fake_close(void *state, uint64_t end_ns)
{
	note(state, 'c', NULL);
}

static int fake_disarm(void *state, struct xp_err *reterr)
{
	return note(state, 'x', reterr);
}

static int fake_want_end(void *state)
{
	struct fake *fake = state;

	return fake->end_after >= 0 && fake->drains >= fake->end_after ? (int)fake->end : -1;
}

static void fake_cost(void *state, uint64_t *ret_ns, uint64_t *ret_events)
{
	struct fake *fake = state;

	*ret_ns = fake->cost_ns;
	*ret_events = fake->events;
}

static uint64_t fake_floor(void *state)
{
	return ((struct fake *)state)->events ? 731 : 7;
}

static int fake_poll_fd(void *state)
{
	return ((struct fake *)state)->wake_fd;
}

static uint32_t fake_children(void *state)
{
	return 3;
}

static const struct xp_collector_ops fake_ops = {
	.name = "fake", .prepare = fake_prepare, .arm = fake_arm, .open = fake_open, .drain = fake_drain, .close_window = fake_close,
	.disarm = fake_disarm, .want_end = fake_want_end, .cost = fake_cost, .floor_ns = fake_floor, .poll_fd = fake_poll_fd,
	.children = fake_children,
};

struct setup {
	struct fake fake[2];
	struct xp_collector collectors[2];
	struct xp_window_bounds bounds;
	struct xp_window window;
	struct xp_err err;
	int result;
};

static void fresh(struct setup *setup)
{
	memset(setup, 0, sizeof(*setup));
	steps[0] = '\0';
	interrupts = 0;
	for (int i = 0; i < 2; i++) {
		setup->fake[i] = (struct fake){ .name = (char)('1' + i), .end_after = -1, .wake_fd = -1, .code = XP_E_INTERNAL };
		setup->collectors[i] = (struct xp_collector){ .ops = &fake_ops, .state = &setup->fake[i] };
	}
	setup->bounds = (struct xp_window_bounds){ .duration_ms = 20, .timeout_ms = 5000 };
}

static void run_on(struct setup *setup, pid_t pid)
{
	struct xp_target *target = NULL;

	assert_int_equal(xp_target_open((uint32_t)pid, NULL, &target, &setup->err), 0);
	setup->result = xp_window_run(setup->collectors, 2, target, &setup->bounds, &setup->window, &setup->err);
	xp_target_close(target);
}

static void finish(struct setup *setup)
{
	xp_err_done(&setup->err);
	for (int i = 0; i < 2; i++)
		xp_err_done(&setup->collectors[i].err);
}

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

static void steps_back_behind_the_capture(void **state)
{
	assert_int_equal(getpriority(PRIO_PROCESS, 0), 19);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arms_forwards_disarms_backwards),
		cmocka_unit_test(failed_arm_leaves_nothing_armed),
		cmocka_unit_test(failed_prepare_touches_nothing),
		cmocka_unit_test(optional_collectors_are_taken_out),
		cmocka_unit_test(failing_drain_ends_the_window),
		cmocka_unit_test(cleanup_failure_outranks_and_names_the_hidden_one),
		cmocka_unit_test(collectors_end_the_window),
		cmocka_unit_test(timeout_ends_the_window),
		cmocka_unit_test(not_ready_in_time_is_an_error),
		cmocka_unit_test(signal_before_the_window_arms_nothing),
		cmocka_unit_test(target_that_dies_ends_the_window_early),
		cmocka_unit_test(cost_limit_ends_the_window),
		cmocka_unit_test(execve_is_seen),
		cmocka_unit_test(readable_descriptor_wakes_once),
		cmocka_unit_test(steps_back_behind_the_capture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
