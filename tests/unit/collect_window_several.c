// SPDX-License-Identifier: Apache-2.0
/* One window for two processes: one that ends does not end the other, costs and forks are told apart, limits are kept for each. */
#include "../lib/window.c"

#include <sys/prctl.h>
#include <sys/resource.h>

struct pair {
	struct setup s;
	pid_t pids[2];
	struct xp_window_target targets[2];
};

/* A process of the test that ends with it, also when the test fails before the process ran for the first time. */
static pid_t forked(void (*work)(void))
{
	pid_t parent = getpid(), pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			work();
		_exit(0);
	}
	return pid;
}

static void wait_a_second(void)
{
	sleep(1);
}

static void spin(void)
{
	for (volatile unsigned n = 0; n < 1000000; n++)
		;
}

static pid_t sleeper(void)
{
	return forked(wait_a_second);
}

/* Where allowed before others: it has to be busy on a crowded machine, too. */
static pid_t spinner(void)
{
	pid_t pid = forked(spin);

	setpriority(PRIO_PROCESS, (id_t)pid, -10);
	return pid;
}

static void begin(struct pair *p, pid_t first, pid_t second)
{
	memset(p, 0, sizeof(*p));
	fresh(&p->s);
	p->pids[0] = first;
	p->pids[1] = second;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(xp_target_open((uint32_t)p->pids[i], NULL, &p->targets[i].target, &p->s.err), 0);
		p->s.collectors[i].of = i;
		p->s.collectors[i].optional = true;
	}
}

static void run_both(struct pair *p)
{
	p->s.result = xp_window_run_all(p->s.collectors, 2, p->targets, 2, &p->s.bounds, &p->s.window, &p->s.err);
}

static void end(struct pair *p)
{
	for (size_t i = 0; i < 2; i++) {
		kill(p->pids[i], SIGKILL);
		waitpid(p->pids[i], NULL, 0);
		xp_target_close(p->targets[i].target);
	}
	finish(&p->s);
}

static void costs_are_told_apart(void **state)
{
	struct pair p;

	begin(&p, sleeper(), sleeper());
	p.s.fake[0].events = 503;
	p.s.fake[1].events = 97;
	run_both(&p);
	assert_int_equal(p.s.result, 0);
	assert_string_equal(steps, "p1 p2 a1 a2 o1 o2 c1 c2 x2 x1 ");
	assert_int_equal(p.s.window.end, XP_END_DURATION);
	assert_int_equal(p.targets[0].cost.probe_events, 503);
	assert_int_equal(p.targets[1].cost.probe_events, 97);
	assert_int_equal(p.s.window.cost.probe_events, 600);
	assert_int_equal(p.targets[0].children, 3);
	assert_int_equal(p.s.window.children, 6);
	assert_false(p.targets[0].gone || p.targets[1].gone);
	end(&p);
}

static void one_that_ends_does_not_end_the_other(void **state)
{
	struct pair p;

	begin(&p, sleeper(), sleeper());
	p.s.bounds.duration_ms = 150;
	p.s.fake[0].kill_at_open = p.pids[1];
	run_both(&p);
	assert_int_equal(p.s.result, 0);
	assert_int_equal(p.s.window.end, XP_END_DURATION);
	assert_true(p.s.window.end_ns - p.s.window.start_ns >= 150000000);
	assert_true(p.targets[1].gone && !p.targets[0].gone);
	assert_string_equal(steps, "p1 p2 a1 a2 o1 o2 c1 c2 x2 x1 ");
	/* An ended process stays readable for epoll: the loop must not spin on it. */
	assert_true(p.s.fake[0].drains < 40);
	end(&p);
}

static void the_last_one_ends_the_window(void **state)
{
	struct pair p;

	begin(&p, sleeper(), sleeper());
	p.s.bounds.duration_ms = 4000;
	p.s.fake[0].kill_at_open = p.pids[0];
	p.s.fake[1].kill_at_open = p.pids[1];
	run_both(&p);
	assert_int_equal(p.s.result, 0);
	assert_int_equal(p.s.window.end, XP_END_TARGET_GONE);
	assert_true(p.s.window.end_ns - p.s.window.start_ns < UINT64_C(3000000000));
	end(&p);
}

static void one_that_ended_before_is_left_out(void **state)
{
	struct pair p;

	begin(&p, sleeper(), sleeper());
	kill(p.pids[0], SIGKILL);
	waitpid(p.pids[0], NULL, 0);
	run_both(&p);
	assert_int_equal(p.s.result, 0);
	assert_string_equal(steps, "p1 p2 a2 o2 c2 x2 ");
	assert_true(p.targets[0].gone);
	assert_true(p.s.collectors[0].out);
	assert_int_equal(p.s.collectors[0].err.code, XP_E_TARGET_EXITED);
	end(&p);

	/* With nobody left there is no window. */
	begin(&p, sleeper(), sleeper());
	for (size_t i = 0; i < 2; i++) {
		kill(p.pids[i], SIGKILL);
		waitpid(p.pids[i], NULL, 0);
	}
	run_both(&p);
	assert_int_equal(p.s.result, -XP_E_TARGET_EXITED);
	assert_false(p.s.window.opened);
	end(&p);
}

/* An idle process has hardly any CPU time, of which any cost is a large share. */
static void an_idle_one_is_not_judged_by_itself(void **state)
{
	struct pair p;

	begin(&p, spinner(), sleeper());
	p.s.bounds.duration_ms = 500;
	p.s.bounds.max_cost = 0.05;
	p.s.fake[1].cost_ns = 100000;
	run_both(&p);
	assert_int_equal(p.s.window.end, XP_END_DURATION);
	assert_false(p.s.window.cost.limit_reached);
	end(&p);
}

static void a_busy_one_is(void **state)
{
	struct pair p;

	begin(&p, spinner(), spinner());
	p.s.bounds.duration_ms = 4000;
	p.s.bounds.max_cost = 0.5;
	p.s.fake[1].cost_ns = UINT64_C(3500000000);
	run_both(&p);
	assert_int_equal(p.s.window.end, XP_END_COST);
	assert_true(p.s.window.cost.limit_reached);
	assert_true(p.targets[1].cost.limit_reached);
	assert_false(p.targets[0].cost.limit_reached);
	end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(costs_are_told_apart),
		cmocka_unit_test(one_that_ends_does_not_end_the_other),
		cmocka_unit_test(the_last_one_ends_the_window),
		cmocka_unit_test(one_that_ended_before_is_left_out),
		cmocka_unit_test(an_idle_one_is_not_judged_by_itself),
		cmocka_unit_test(a_busy_one_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
