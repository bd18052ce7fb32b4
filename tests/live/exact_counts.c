/* SPDX-License-Identifier: Apache-2.0 */
/* Exact counts, by prime numbers: every way to enter and leave a C function, threads, forks, execve, system calls, tracepoints (D2). */
#include "../lib/capture.c"

#include <sys/syscall.h>

static void entry_and_return(void **state)
{
	struct capture c;

	begin_capture(&c, "plain", 9973);
	unsigned entry = add_entry(&c, "work"), ret = add_return(&c, "work");

	add_edge(&c, entry, ret, XP_POLICY_STACK_NESTED);
	run_ok(&c);
	assert_int_equal(count_events(&c, entry), 9973);
	assert_int_equal(count_events(&c, ret), 9973);
	assert_int_equal(account_of(&c, "ebpf_uprobe").emitted, 2 * 9973);
	assert_int_equal(account_of(&c, "ebpf_uprobe").still_open, 0);
	assert_int_equal(c.window.cost.probe_events, 2 * 9973);
	assert_true(c.window.cost.probe_floor_ns.v > 0);
	assert_true(c.window.cost.cpu_share.v > 0);

	/* The frame's own slot, the same at entry and return, whatever probe reported it; and never a return before its entry. */
	xp_store_sort(xp_exact_store(c.exact));
	const struct xp_event *events = xp_store_events(xp_exact_store(c.exact));

	for (unsigned i = 0; i < 2 * 9973; i += 2) {
		assert_int_equal(events[i].type, XP_EV_HOST_FUNCTION_ENTRY);
		assert_int_equal(events[i + 1].type, XP_EV_HOST_FUNCTION_EXIT);
		assert_int_equal(events[i].host.sp, events[i + 1].host.sp);
		assert_int_equal(events[i].pid, c.child.pid);
		assert_int_equal(events[i].tid, c.child.pid);
	}
	const char *name;
	uint32_t ns_tid, ns_pid;

	assert_true(xp_store_thread_at(xp_exact_store(c.exact), (uint32_t)c.child.pid, &name, &ns_tid, &ns_pid));
	assert_string_equal(name, "calls");
	assert_int_equal(ns_tid, 0);
	end_capture(&c);
}

static void every_first_instruction(void **state)
{
	static const char *const functions[] = { "begins_push", "begins_endbr", "behind_endbr", "begins_move" };
	/* tail_outer jumps to begins_push. */
	static const unsigned expected[] = { 2 * 1009, 1009, 1009, 1009 };
	unsigned entry[XP_LEN(functions)], ret[XP_LEN(functions)];
	struct capture c;

	begin_capture(&c, "shapes", 1009);
	for (size_t i = 0; i < XP_LEN(functions); i++) {
		entry[i] = add_entry(&c, functions[i]);
		ret[i] = add_return(&c, functions[i]);
	}
	run_ok(&c);
	for (size_t i = 0; i < XP_LEN(functions); i++) {
		assert_int_equal(count_events(&c, entry[i]), expected[i]);
		assert_int_equal(count_events(&c, ret[i]), expected[i]);
	}
	end_capture(&c);
}

static void exit_sites(void **state)
{
	struct capture c;

	begin_capture(&c, "shapes", 1009);
	unsigned entry = add_entry(&c, "two_exits");
	unsigned exit =
		add_sites(&c, XP_EV_HOST_FUNCTION_EXIT, "two_exits", (const char *[]){ "two_exits_odd", "two_exits_even", NULL }, false);
	unsigned odd = add_sites(&c, XP_EV_HOST_FUNCTION_EXIT, "two_exits", (const char *[]){ "two_exits_odd", NULL }, false);
	unsigned tail = add_entry(&c, "tail_outer");
	unsigned jump = add_sites(&c, XP_EV_HOST_FUNCTION_EXIT, "tail_outer", (const char *[]){ "tail_jump", NULL }, false);

	add_edge(&c, entry, exit, XP_POLICY_STACK_NESTED);
	add_edge(&c, tail, jump, XP_POLICY_STACK_NESTED);
	run_ok(&c);
	assert_int_equal(count_events(&c, entry), 1009);
	assert_int_equal(count_events(&c, exit), 1009);
	assert_int_equal(count_events(&c, odd), 504);
	assert_int_equal(count_events(&c, tail), 1009);
	assert_int_equal(count_events(&c, jump), 1009);
	/* A site that two endpoints share is armed once. */
	assert_int_equal(account_of(&c, "ebpf_uprobe").emitted, 4 * 1009);
	assert_int_equal(account_of(&c, "ebpf_uprobe").still_open, 0);
	end_capture(&c);
}

/* B14: a function of a single `ret` is entered and left at one instruction; its entry comes first. */
static void single_instruction(void **state)
{
	struct capture c;

	begin_capture(&c, "shapes", 1009);
	unsigned entry = add_entry(&c, "only_ret");
	unsigned exit = add_sites(&c, XP_EV_HOST_FUNCTION_EXIT, "only_ret", (const char *[]){ "only_ret", NULL }, false);

	add_edge(&c, entry, exit, XP_POLICY_STACK_NESTED);
	run_ok(&c);
	assert_int_equal(count_events(&c, entry), 1009);
	assert_int_equal(count_events(&c, exit), 1009);
	assert_int_equal(account_of(&c, "ebpf_uprobe").still_open, 0);
	end_capture(&c);
}

/* The kernel keeps 64 pending returns a thread: what is nested deeper returns unseen, and never mispairs. */
static void recursion_depth_80(void **state)
{
	struct capture c;

	begin_capture(&c, "recurse", 101);
	unsigned entry = add_entry(&c, "recurse"), ret = add_return(&c, "recurse");

	add_edge(&c, entry, ret, XP_POLICY_STACK_NESTED);
	run_ok(&c);
	assert_int_equal(count_events(&c, entry), 101 * 80);
	assert_int_equal(count_events(&c, ret), 101 * 64);
	end_capture(&c);
}

static void longjmp_leaves_starts_open(void **state)
{
	struct capture c;

	begin_capture(&c, "longjmp", 3001);
	unsigned entry = add_entry(&c, "leaves"), ret = add_return(&c, "leaves");

	add_edge(&c, entry, ret, XP_POLICY_STACK_NESTED);
	run_ok(&c);
	assert_int_equal(count_events(&c, entry), 3001);
	assert_int_equal(count_events(&c, ret), 3001 - 1001);
	end_capture(&c);
}

static void tail_called(void **state)
{
	struct capture c;

	begin_capture(&c, "shapes", 1009);
	unsigned entry = add_entry(&c, "tail_outer"), ret = add_return(&c, "tail_outer");

	run_ok(&c);
	assert_int_equal(count_events(&c, entry), 1009);
	assert_int_equal(count_events(&c, ret), 1009);
	end_capture(&c);
}

static void threads_born_in_the_window(void **state)
{
	struct capture c;

	begin_capture(&c, "threads", 1009);
	unsigned entry = add_entry(&c, "work"), ret = add_return(&c, "work");

	run_ok(&c);
	assert_int_equal(count_events(&c, entry), 7 * 1009);
	assert_int_equal(count_events(&c, ret), 7 * 1009);
	assert_int_equal(c.window.children, 0);
	end_capture(&c);
}

static void two_threads_at_once(void **state)
{
	struct capture c;

	begin_capture(&c, "two", 10007);
	unsigned entry = add_entry(&c, "work"), ret = add_return(&c, "work");

	run_ok(&c);
	assert_int_equal(count_events(&c, entry), 2 * 10007);
	assert_int_equal(count_events(&c, ret), 2 * 10007);
	end_capture(&c);
}

/* Children, also one that shares the target's memory, are not the target. */
static void forked_children_are_counted_not_captured(void **state)
{
	struct capture c;

	begin_capture(&c, "fork", 503);
	unsigned entry = add_entry(&c, "work");

	run_ok(&c);
	assert_int_equal(count_events(&c, entry), 503);
	assert_int_equal(c.window.children, 4);
	end_capture(&c);
}

static void execve_ends_the_probes(void **state)
{
	struct capture c;

	begin_capture(&c, "exec", 503);
	unsigned entry = add_entry(&c, "work");

	run_ok(&c);
	assert_int_equal(count_events(&c, entry), 503);
	end_capture(&c);
}

static void syscall_pairs(void **state)
{
	struct capture c;

	begin_capture(&c, "getppid", 9973);
	unsigned entry = add_syscall(&c, XP_EV_SYSCALL_ENTRY, "getppid", SYS_getppid);
	unsigned exit = add_syscall(&c, XP_EV_SYSCALL_EXIT, "getppid", SYS_getppid);

	add_edge(&c, entry, exit, XP_POLICY_EXACT);
	run_ok(&c);
	assert_int_equal(count_events(&c, entry), 9973);
	assert_int_equal(count_events(&c, exit), 9973);
	assert_int_equal(account_of(&c, "ebpf_syscall").emitted, 2 * 9973);

	const struct xp_event *events = xp_store_events(xp_exact_store(c.exact));

	assert_int_equal(xp_store_args(xp_exact_store(c.exact), &events[2])[0], 1);
	assert_int_equal(events[3].host.result, getpid());
	end_capture(&c);
}

/* 9.1 rule 5: a stopped sleep goes on in restart_syscall; one that a handler interrupts ends with the rt_sigreturn that returns EINTR. */
static void restarted_calls_are_followed(void **state)
{
	unsigned continued = 0, interrupted = 0;
	struct capture c;

	begin_capture(&c, "restart", 5);
	unsigned entry = add_syscall(&c, XP_EV_SYSCALL_ENTRY, "nanosleep", SYS_nanosleep);
	unsigned exit = add_syscall(&c, XP_EV_SYSCALL_EXIT, "nanosleep", SYS_nanosleep);

	add_edge(&c, entry, exit, XP_POLICY_EXACT);
	c.plan.follow_restarts = true;
	c.plan.bounds.samples = (struct xp_opt_u64)XP_SOME(10);
	run_ok(&c);
	assert_int_equal(c.window.end, XP_END_SAMPLES);
	assert_int_equal(count_events(&c, entry), 10);
	assert_int_equal(count_events(&c, exit), 10);
	const struct xp_event *events = xp_store_events(xp_exact_store(c.exact));

	for (uint64_t i = 0; i < xp_store_count(xp_exact_store(c.exact)); i++) {
		const struct xp_event *event = &events[i];

		if (!(event->flags & XP_EVF_CONTINUES) || event->type != XP_EV_SYSCALL_EXIT)
			continue;
		continued += event->syscall_nr == SYS_restart_syscall && event->host.result == 0;
		interrupted += event->syscall_nr == SYS_rt_sigreturn && event->host.result == -EINTR;
	}
	assert_int_equal(continued, 5);
	assert_int_equal(interrupted, 5);
	end_capture(&c);
}

static void tracepoints(void **state)
{
	struct capture c;

	begin_capture(&c, "rename", 2003);
	unsigned raw = add_endpoint(&c, XP_EV_TRACEPOINT, "tracepoint:task:task_rename");
	unsigned both = add_endpoint(&c, XP_EV_TRACEPOINT, "tracepoint:task:task_rename");

	c.plan.endpoints[raw].tracepoint.category = c.plan.endpoints[both].tracepoint.category = "task";
	c.plan.endpoints[raw].tracepoint.name = c.plan.endpoints[both].tracepoint.name = "task_rename";
	run_ok(&c);
	assert_int_equal(count_events(&c, raw), 2003);
	assert_int_equal(count_events(&c, both), 2003);
	assert_int_equal(account_of(&c, "ebpf_tracepoint").emitted, 2003);
	end_capture(&c);
}

/* A trace event of category syscalls has no raw tracepoint: perf event, tracefs needed. */
static void tracepoint_through_perf(void **state)
{
	struct capture c;

	if (access("/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id", F_OK) != 0) {
		print_message("SKIP: tracefs is not mounted\n");
		skip();
	}
	begin_capture(&c, "getppid", 1009);
	unsigned trace = add_endpoint(&c, XP_EV_TRACEPOINT, "tracepoint:syscalls:sys_enter_getppid");

	c.plan.endpoints[trace].tracepoint.category = "syscalls";
	c.plan.endpoints[trace].tracepoint.name = "sys_enter_getppid";
	run_ok(&c);
	assert_int_equal(count_events(&c, trace), 1009);
	end_capture(&c);
}

static void unknown_tracepoint(void **state)
{
	struct capture c;

	begin_capture(&c, "idle", 0);
	unsigned trace = add_endpoint(&c, XP_EV_TRACEPOINT, "tracepoint:task:no_such_event");

	c.plan.endpoints[trace].tracepoint.category = "task";
	c.plan.endpoints[trace].tracepoint.name = "no_such_event";
	run_capture(&c, 0);
	assert_int_equal(c.result, -XP_E_SYMBOL_NOT_FOUND);
	assert_false(c.window.opened);
	end_capture(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entry_and_return),
		cmocka_unit_test(every_first_instruction),
		cmocka_unit_test(exit_sites),
		cmocka_unit_test(single_instruction),
		cmocka_unit_test(recursion_depth_80),
		cmocka_unit_test(longjmp_leaves_starts_open),
		cmocka_unit_test(tail_called),
		cmocka_unit_test(threads_born_in_the_window),
		cmocka_unit_test(two_threads_at_once),
		cmocka_unit_test(forked_children_are_counted_not_captured),
		cmocka_unit_test(execve_ends_the_probes),
		cmocka_unit_test(syscall_pairs),
		cmocka_unit_test(restarted_calls_are_followed),
		cmocka_unit_test(tracepoints),
		cmocka_unit_test(tracepoint_through_perf),
		cmocka_unit_test(unknown_tracepoint),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
