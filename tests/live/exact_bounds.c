/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of the exact capture: a ring that overflows (D9), capacity, samples, cost (D4), a target that dies (C4), refused places. */
#include "../lib/capture.c"

#include <time.h>

/* D9: what does not fit is counted, to the last record. */
static void burst_into_a_small_ring(void **state)
{
	struct capture c;

	begin_capture(&c, "burst", 1000007);
	unsigned silent = add_entry(&c, "work"), burst = add_entry(&c, "begins_push");

	c.plan.test_ring_bytes = 4096;
	run_ok(&c);
	struct xp_account account = account_of(&c, "ebpf_uprobe");

	assert_int_equal(account.emitted, 1000007);
	assert_int_equal(account.delivered + account.dropped, 1000007);
	assert_true(account.dropped > 0);
	assert_int_equal(account.n_dropped_reasons, 1);
	assert_string_equal(account.dropped_reasons[0].name, "ring_full");
	assert_int_equal(account.dropped_reasons[0].n, account.dropped);
	assert_int_equal(count_events(&c, burst), account.delivered);
	assert_int_equal(count_events(&c, silent), 0);
	end_capture(&c);
}

/* The ordinary ring takes the same burst whole. */
static void burst_into_the_ordinary_ring(void **state)
{
	struct capture c;

	begin_capture(&c, "burst", 1000007);
	unsigned burst = add_entry(&c, "begins_push");

	run_ok(&c);
	assert_int_equal(account_of(&c, "ebpf_uprobe").dropped, 0);
	assert_int_equal(count_events(&c, burst), 1000007);
	end_capture(&c);
}

static void capacity_ends_the_window(void **state)
{
	struct capture c;

	begin_capture(&c, "forever", 1);
	unsigned entry = add_entry(&c, "work");

	c.plan.bounds.max_events = 5003;
	run_ok(&c);
	assert_int_equal(c.window.end, XP_END_CAPACITY);
	assert_int_equal(count_events(&c, entry), 5003);
	assert_true(xp_exact_observed(c.exact) >= 5003);
	assert_int_equal(xp_exact_observed(c.exact), account_of(&c, "ebpf_uprobe").delivered);
	kill(c.child.pid, SIGKILL);
	end_capture_as(&c, -SIGKILL);
}

static void samples_end_the_window(void **state)
{
	static const enum xp_policy_id policies[] = { XP_POLICY_STACK_NESTED, XP_POLICY_FIRST_AFTER, XP_POLICY_NEAREST };

	for (size_t i = 0; i < XP_LEN(policies); i++) {
		struct capture c;

		begin_capture(&c, "forever", 1);
		unsigned entry = add_entry(&c, "work"), ret = add_return(&c, "work");

		add_edge(&c, entry, ret, policies[i]);
		c.plan.bounds.samples = (struct xp_opt_u64)XP_SOME(997);
		run_ok(&c);
		assert_int_equal(c.window.end, XP_END_SAMPLES);
		assert_true(count_events(&c, ret) >= 997);
		assert_true(c.window.end_ns - c.window.start_ns < UINT64_C(30000000000));
		kill(c.child.pid, SIGKILL);
		end_capture_as(&c, -SIGKILL);
	}
}

static uint64_t cpu_clock_ns(pid_t pid)
{
	clockid_t clock;
	struct timespec t;

	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	assert_int_equal(clock_gettime(clock, &t), 0);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* D4: a hot function. The capture stops itself, and the code is as before. */
static void cost_limit_ends_the_window(void **state)
{
	unsigned char before[16], after[16];
	struct capture c;

	begin_capture(&c, "forever", 1);
	add_entry(&c, "work");
	uint64_t address = symbol_address(c.target, "work", NULL, 0);

	read_memory(c.child.pid, address, before, sizeof(before));
	run_capture(&c, 0.05);
	assert_int_equal(c.result, 0);
	assert_int_equal(c.window.end, XP_END_COST);
	assert_true(c.window.cost.limit_reached);
	assert_true(c.window.cost.cpu_share.v > 0.05);
	read_memory(c.child.pid, address, after, sizeof(after));
	assert_memory_equal(before, after, sizeof(before));
	assert_true(cpu_clock_ns(c.child.pid) > 0);
	kill(c.child.pid, SIGKILL);
	end_capture_as(&c, -SIGKILL);
}

/* C4: the target is killed in mid capture: a clean end with what there was. */
static void target_that_dies(void **state)
{
	struct capture c;

	begin_capture(&c, "forever", 1);
	unsigned entry = add_entry(&c, "work");

	c.kill_after = 20;
	run_ok(&c);
	assert_int_equal(c.window.end, XP_END_TARGET_GONE);
	assert_true(count_events(&c, entry) > 0);
	account_of(&c, "ebpf_uprobe");
	end_capture_as(&c, -SIGKILL);
}

/* The kernel refuses one of several places: the link fails as a whole, and the one is named. */
static void refused_place_is_named(void **state)
{
	struct capture c;

	begin_capture(&c, "idle", 0);
	add_entry(&c, "begins_push");
	add_entry(&c, "begins_move");
	add_entry(&c, "begins_lock");
	add_entry(&c, "work");
	add_entry(&c, "only_ret");
	run_capture(&c, 0);
	assert_int_equal(c.result, -XP_E_PROBE_REFUSED);
	assert_string_equal(c.err.object, "begins_lock");
	/* What measuring the floor left in the ring is nobody's event. */
	assert_int_equal(xp_exact_observed(c.exact), 0);
	assert_string_equal(c.err.errno_text, "ENOTSUPP");
	assert_false(c.window.opened);
	end_capture(&c);
}

/* Events of sleepers that were inside a call when the window opened take no place from the capacity. */
static void ends_from_before_are_exempt(void **state)
{
	struct capture c;

	begin_capture(&c, "sleepers", 700);
	unsigned entry = add_syscall(&c, XP_EV_SYSCALL_ENTRY, "nanosleep", 35), exit = add_syscall(&c, XP_EV_SYSCALL_EXIT, "nanosleep", 35);

	add_edge(&c, entry, exit, XP_POLICY_EXACT);
	c.plan.bounds.max_events = 14;
	c.plan.bounds.samples = (struct xp_opt_u64)XP_SOME(7);
	run_ok(&c);
	assert_int_equal(c.window.end, XP_END_SAMPLES);
	assert_int_equal(count_events(&c, entry), 7);
	assert_int_equal(count_events(&c, exit), 14);
	end_capture(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(burst_into_a_small_ring),    cmocka_unit_test(burst_into_the_ordinary_ring),
		cmocka_unit_test(capacity_ends_the_window),   cmocka_unit_test(samples_end_the_window),
		cmocka_unit_test(cost_limit_ends_the_window), cmocka_unit_test(target_that_dies),
		cmocka_unit_test(refused_place_is_named),     cmocka_unit_test(ends_from_before_are_exempt),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
