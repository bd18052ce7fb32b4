// SPDX-License-Identifier: Apache-2.0
/* Recorded inputs -> findings of the syscall rules: above the bound, just below it, absorbed. */
#include "triage_scene.h"

#include "inventory/syscalls.h"

static void add_call(struct scene *s, uint32_t tid, const char *name, uint64_t calls, uint64_t total_ms)
{
	s->sums[s->view.n_sums++] = (struct xp_call_sum){ .name = name, .calls = calls, .total_ns = total_ms * MS };
	s->uses[s->view.n_uses++] =
		(struct xp_call_use){ .tid = tid, .thread_name = "main", .name = name, .calls = calls, .total_ns = total_ms * MS };
}

static void blocked_in_a_syscall(void **state)
{
	struct scene *s = *state;

	add_call(s, MAIN, "fsync", 31, 49);
	assert_string_equal(codes(s), "");
	s->uses[0].total_ns = 440 * MS;
	assert_string_equal(codes(s), "syscall_blocked");
	assert_string_equal(s->found.at[0]->subject, "fsync");
	assert_true(share(s, 0) == 0.44);
	assert_int_equal(s->found.at[0]->confidence, XP_MEASURED);
	const struct xp_next_spec *next = s->found.at[0]->next;

	assert_int_equal(next->kind, XP_NEXT_SPEC);
	assert_false(next->target_mutation);
	assert_string_equal(next->spec->name, "triage_fsync");
	assert_string_equal(next->spec->start_selector, "syscall:fsync:entry");
	assert_string_equal(next->spec->end_selector, "syscall:fsync:exit");
	assert_int_equal(next->spec->match_policy, XP_POLICY_EXACT);
	assert_int_equal(next->spec->samples.v, 100);
	assert_int_equal(next->spec->timeout_ms, 13000);
	assert_int_equal(next->spec->target.process_start_time, 8812345);
	/* CPU work inside a call is not blocking. */
	s->threads[0] = thread(MAIN, "main", 940, 0);
	assert_string_equal(codes(s), "cpu_bound_thread syscall_blocked");
	assert_true(share(s, 1) == 0.06);
	assert_int_equal(s->found.at[1]->confidence, XP_ESTIMATED);
	/* A thread that is not active does not count. */
	s->threads[0] = thread(MAIN, "main", 300, 0);
	s->threads[0].active = false;
	assert_string_equal(codes(s), "");
}

static void waiting_calls_speak_only_alone(void **state)
{
	struct scene *s = *state;

	s->threads[0] = thread(MAIN, "pool", 40, 0);
	add_call(s, MAIN, "epoll_wait", 10, 900);
	assert_string_equal(codes(s), "syscall_blocked");
	add_call(s, MAIN, "fsync", 10, 200);
	assert_string_equal(codes(s), "syscall_blocked syscall_blocked"); /* 0.20 is not above 0.20 */
	s->uses[1].total_ns = 210 * MS;
	assert_string_equal(codes(s), "syscall_blocked");
	assert_string_equal(s->found.at[0]->subject, "fsync");
	/* The same call in a thread that works is a finding of its own. */
	s->threads[0] = thread(MAIN, "busy", 50, 0);
	assert_string_equal(codes(s), "syscall_blocked syscall_blocked");
}

static void three_syscalls_at_most(void **state)
{
	struct scene *s = *state;

	add_call(s, MAIN, "fsync", 10, 100);
	add_call(s, MAIN, "read", 10, 110);
	add_call(s, MAIN, "write", 10, 120);
	add_call(s, MAIN, "openat", 10, 130);
	assert_string_equal(codes(s), "syscall_blocked syscall_blocked syscall_blocked");
	assert_string_equal(s->found.at[2]->subject, "read");
}

static void syscall_storm(void **state)
{
	struct scene *s = *state;

	s->threads[0] = thread(MAIN, "main", 990, 0);
	add_call(s, MAIN, "getppid", 19999, 100);
	assert_string_equal(codes(s), "cpu_bound_thread");
	s->sums[0].calls = 20000;
	s->sums[0].total_ns = 200 * MS; /* mean 10 us: not below */
	assert_string_equal(codes(s), "cpu_bound_thread");
	s->sums[0].total_ns = 200 * MS - 1;
	assert_string_equal(codes(s), "syscall_rate");
	assert_string_equal(absorbed(s, 0), "cpu_bound_thread");
	assert_true(share(s, 0) == 0.1); /* of the busiest thread */
	assert_int_equal(((const struct xp_next_spec *)s->found.at[0]->next)->spec->max_events.v, 11000);
}

/* It does not return as itself: there is no pair to be measured. */
static void signal_storm(void **state)
{
	struct scene *s = *state;

	s->threads[0] = thread(MAIN, "main", 990, 0);
	add_call(s, MAIN, "rt_sigreturn", 30000, 100);
	assert_string_equal(codes(s), "syscall_rate");
	assert_non_null(strstr(s->found.at[0]->message, "30000 signals a second"));
	const struct xp_next_action *next = s->found.at[0]->next;
	assert_int_equal(next->kind, XP_NEXT_ACTION);
	assert_string_equal(next->code, "collect_cpu_samples");
}

static void failing_calls(void **state)
{
	struct scene *s = *state;

	add_call(s, MAIN, "openat", 99, 40);
	s->sums[0].errors = 99;
	assert_string_equal(codes(s), "");
	s->sums[0].calls = 101;
	s->sums[0].errors = 50;
	assert_string_equal(codes(s), "");
	s->sums[0].errors = 101;
	s->sums[0].top_errno = "ENOENT";
	assert_string_equal(codes(s), "syscall_errors");
	assert_true(fabs(share(s, 0) - 0.04) < 1e-12);
	s->sums[0].again = 51; /* EAGAIN is no failure */
	assert_string_equal(codes(s), "");
}

/* What the inventory counts and what rules need of it. */
static void view_of_the_inventory(void **state)
{
	struct scene *s = *state;
	const struct xp_count errnos[] = { { "EAGAIN", 11 }, { "EINTR", 2 }, { "ENOENT", 5 } };
	const struct xp_syscall_group groups[] = {
		{ .syscall_number = 0,
		  .syscall_name = "read",
		  .count = 23,
		  .errors = 18,
		  .interrupted = 3,
		  .errors_by_errno = errnos,
		  .n_errors_by_errno = 3,
		  .duration_ns = { .total = 700, .max = 90 } },
		{ .syscall_number = 4242, .count = 7, .duration_ns = { .total = 70, .max = 10 } },
	};
	const struct xp_thread_syscall uses[] = {
		{ .tid = 71, .syscall_name = "read", .count = 20, .total_ns = 600 },
		{ .tid = 73, .syscall_name = "read", .count = 3, .total_ns = 100, .open_ns = 501 },
		{ .tid = 73, .syscall_name = "write", .compat = true, .count = 1, .total_ns = 9000 },
	};
	const struct xp_syscall_open open = {
		.tid = 73, .thread_name = "w", .syscall_name = "read", .age_ns = 501, .started_before_window = true
	};
	const struct xp_syscalls value = {
		.inventory = { .groups = groups, .n_groups = 2 },
		.thread_calls = uses,
		.n_thread_calls = 3,
		.open_at_end = &open,
		.n_open_at_end = 1,
		.collection = { .inflight_at_end = 1 },
	};
	const struct xp_syscall_view *view = xp_syscall_view_of(&value, s->arena);

	assert_int_equal(view->calls, 30);
	assert_int_equal(view->errors, 18);
	assert_int_equal(view->interrupted, 3);
	assert_int_equal(view->open_at_end, 1);
	assert_int_equal(view->sums[0].again, 11);
	assert_string_equal(view->sums[0].top_errno, "ENOENT");
	assert_null(view->sums[1].name);
	assert_int_equal(view->n_uses, 2);	 /* 32-bit calls have no selector */
	assert_int_equal(view->uses[0].tid, 73); /* 601 ns with the open call */
	assert_int_equal(view->uses[0].total_ns, 601);
	assert_string_equal(view->open[0].name, "read");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(blocked_in_a_syscall), SCENE_TEST(waiting_calls_speak_only_alone), SCENE_TEST(three_syscalls_at_most),
		SCENE_TEST(syscall_storm),	  SCENE_TEST(three_syscalls_at_most),	      SCENE_TEST(signal_storm),
		SCENE_TEST(failing_calls),	  SCENE_TEST(view_of_the_inventory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
