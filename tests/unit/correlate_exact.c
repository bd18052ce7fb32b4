/* SPDX-License-Identifier: Apache-2.0 */
/* exact by life cycle: system calls with restarts, garbage collections, NVTX ranges (contract 9, 9.1 rule 5). */
#include <asm/unistd.h>

#include "capture.h"

enum { RESTART_BLOCK = -516, RESTART_SYS = -512, EINTR_SEEN = -4 };

static struct capture *reads(void)
{
	struct capture *c = capture_new(XP_POLICY_EXACT, XP_EV_SYSCALL_ENTRY, XP_EV_SYSCALL_EXIT);

	c->start.syscall.name = c->end.syscall.name = "read";
	return c;
}

static void put_call(struct capture *c, uint64_t t_ns, uint32_t tid, enum xp_event_type type, uint32_t nr, int64_t result)
{
	struct xp_event e = event_of(c, t_ns, nr != __NR_read ? NEITHER : type == XP_EV_SYSCALL_ENTRY ? START : END);

	e.type = (uint8_t)type;
	e.tid = tid;
	e.syscall_nr = nr;
	e.host.result = result;
	e.flags = nr == __NR_read ? 0 : XP_EVF_CONTINUES;
	put(c, e);
}

static void enter(struct capture *c, uint64_t t_ns, uint32_t nr)
{
	put_call(c, t_ns, 1, XP_EV_SYSCALL_ENTRY, nr, 0);
}

static void leave(struct capture *c, uint64_t t_ns, uint32_t nr, int64_t result)
{
	put_call(c, t_ns, 1, XP_EV_SYSCALL_EXIT, nr, result);
}

static void threads_are_kept_apart(void **state)
{
	struct capture *c = reads();

	put_call(c, 10, 1, XP_EV_SYSCALL_ENTRY, __NR_read, 0);
	put_call(c, 20, 2, XP_EV_SYSCALL_ENTRY, __NR_read, 0);
	put_call(c, 30, 1, XP_EV_SYSCALL_EXIT, __NR_read, 3);
	put_call(c, 50, 2, XP_EV_SYSCALL_EXIT, __NR_read, 3);
	expect_counts(correlate(c), 2, 0, 0, 0);
	expect_pair(c, 0, 10, 30);
	expect_pair(c, 1, 20, 50);
	assert_string_equal(c->pairs.method, "exact_syscall_tid_lifecycle");
	assert_int_equal(c->pairs.confidence, XP_CONF_EXACT);
	capture_free(c);
}

static void a_start_replaces_a_pending_one(void **state)
{
	struct capture *c = reads();

	leave(c, 5, __NR_read, 1);
	enter(c, 10, __NR_read);
	enter(c, 20, __NR_read);
	leave(c, 30, __NR_read, 1);
	enter(c, 40, __NR_read);
	expect_counts(correlate(c), 1, 1, 1, 1);
	expect_pair(c, 0, 20, 30);
	assert_int_equal(c->pairs.confidence, XP_CONF_EXACT); /* ambiguous is not above matched */
	capture_free(c);
}

static void more_ambiguous_than_matched(void **state)
{
	struct capture *c = reads();

	for (uint64_t t = 10; t <= 30; t += 10)
		enter(c, t, __NR_read);
	leave(c, 40, __NR_read, 1);
	expect_counts(correlate(c), 1, 0, 0, 2);
	assert_int_equal(c->pairs.confidence, XP_CONF_AMBIGUOUS);
	capture_free(c);
}

/* A call stopped by a signal without a handler was counted as ended when it was stopped. */
static void restart_syscall_continues(void **state)
{
	struct capture *c = reads();

	enter(c, 10, __NR_read);
	leave(c, 20, __NR_read, RESTART_BLOCK);
	enter(c, 30, __NR_restart_syscall);
	leave(c, 40, __NR_restart_syscall, RESTART_BLOCK);
	enter(c, 50, __NR_restart_syscall);
	leave(c, 60, __NR_restart_syscall, 0);
	expect_counts(correlate(c), 1, 0, 0, 0);
	expect_pair(c, 0, 10, 60);
	capture_free(c);
}

static void restart_syscall_known_by_its_exit_alone(void **state)
{
	struct capture *c = reads();

	enter(c, 10, __NR_read);
	leave(c, 20, __NR_read, RESTART_BLOCK);
	leave(c, 40, __NR_restart_syscall, 0);
	expect_counts(correlate(c), 1, 0, 0, 0);
	expect_pair(c, 0, 10, 40);
	capture_free(c);
}

static void the_same_call_issued_again_continues(void **state)
{
	struct capture *c = reads();

	enter(c, 10, __NR_read);
	leave(c, 20, __NR_read, RESTART_SYS);
	leave(c, 25, __NR_rt_sigreturn, __NR_read);
	enter(c, 30, __NR_read);
	leave(c, 40, __NR_read, 5);
	expect_counts(correlate(c), 1, 0, 0, 0);
	expect_pair(c, 0, 10, 40);
	capture_free(c);
}

static void eintr_from_a_handler_ends_the_call_at_its_exit(void **state)
{
	struct capture *c = reads();

	enter(c, 10, __NR_read);
	leave(c, 20, __NR_read, RESTART_SYS);
	enter(c, 24, __NR_rt_sigreturn);
	leave(c, 25, __NR_rt_sigreturn, EINTR_SEEN);
	enter(c, 30, __NR_read);
	leave(c, 40, __NR_read, 5);
	expect_counts(correlate(c), 2, 0, 0, 0);
	expect_pair(c, 0, 10, 20);
	expect_pair(c, 1, 30, 40);
	capture_free(c);
}

static void a_restart_code_with_nothing_pending_is_nothing(void **state)
{
	struct capture *c = reads();

	leave(c, 20, __NR_read, RESTART_SYS);
	leave(c, 30, __NR_restart_syscall, 0);
	leave(c, 35, __NR_rt_sigreturn, EINTR_SEEN);
	expect_counts(correlate(c), 0, 0, 0, 0);
	capture_free(c);
}

static void a_suspended_call_at_the_end_is_unmatched(void **state)
{
	struct capture *c = reads();

	enter(c, 10, __NR_read);
	leave(c, 20, __NR_read, RESTART_SYS);
	expect_counts(correlate(c), 0, 1, 0, 0);
	capture_free(c);
}

/* -511 and -517 are ordinary results; a 32-bit call's number 15 is not rt_sigreturn. */
static void neighbours_of_the_restart_codes(void **state)
{
	struct capture *c = reads();
	struct xp_event e;

	enter(c, 10, __NR_read);
	leave(c, 20, __NR_read, -511);
	enter(c, 30, __NR_read);
	leave(c, 40, __NR_read, -517);
	enter(c, 50, __NR_read);
	leave(c, 60, __NR_read, RESTART_SYS);
	e = event_of(c, 65, NEITHER);
	e.type = XP_EV_SYSCALL_EXIT;
	e.syscall_nr = __NR_rt_sigreturn;
	e.host.result = EINTR_SEEN;
	e.flags = XP_EVF_CONTINUES | XP_EVF_COMPAT;
	put(c, e);
	expect_counts(correlate(c), 2, 1, 0, 0);
	capture_free(c);
}

/* first_after and nearest take exits as they come. */
static void other_policies_ignore_restarts(void **state)
{
	struct capture *c = reads();

	enter(c, 10, __NR_read);
	leave(c, 20, __NR_read, RESTART_SYS);
	leave(c, 30, __NR_restart_syscall, 0);
	c->request.policy = XP_POLICY_FIRST_AFTER;
	expect_counts(correlate(c), 1, 0, 0, 0);
	expect_pair(c, 0, 10, 20);
	c->request.policy = XP_POLICY_NEAREST;
	expect_counts(correlate(c), 1, 0, 0, 0);
	expect_pair(c, 0, 10, 20);
	capture_free(c);
}

static void collections_pair_by_thread(void **state)
{
	struct capture *c = capture_new(XP_POLICY_EXACT, XP_EV_PYTHON_GC_START, XP_EV_PYTHON_GC_END);
	struct xp_event e;

	put_at(c, 10, START);
	e = event_of(c, 15, END);
	e.tid = 2;
	put(c, e);
	put_at(c, 20, END);
	expect_counts(correlate(c), 1, 0, 1, 0);
	expect_pair(c, 0, 10, 20);
	assert_string_equal(c->pairs.method, "exact_python_gc_tid_lifecycle");
	capture_free(c);
}

static void put_range(struct capture *c, uint64_t t_ns, uint32_t role, uint32_t tid, bool process_range, uint64_t id)
{
	struct xp_event e = event_of(c, t_ns, role);
	struct xp_event_detail *detail;

	e.tid = tid;
	e.detail = xp_store_detail_new(c->store, &detail);
	detail->nvtx.process_range = process_range;
	detail->nvtx.range_id = id;
	put(c, e);
}

static void ranges_pair_by_kind_and_id(void **state)
{
	struct capture *c = capture_new(XP_POLICY_EXACT, XP_EV_NVTX_RANGE_START, XP_EV_NVTX_RANGE_END);

	put_range(c, 10, START, 1, true, 5);
	put_range(c, 11, START, 1, false, 5);
	put_range(c, 12, START, 1, true, 6);
	put_range(c, 20, END, 1, false, 5);
	put_range(c, 21, END, 9, true, 5); /* a process range may end on another thread */
	put_range(c, 22, END, 1, false, 6);
	expect_counts(correlate(c), 2, 1, 1, 0);
	expect_pair(c, 0, 10, 21);
	expect_pair(c, 1, 11, 20);
	assert_string_equal(c->pairs.method, "exact_nvtx_range_id");
	capture_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_are_kept_apart),
		cmocka_unit_test(a_start_replaces_a_pending_one),
		cmocka_unit_test(more_ambiguous_than_matched),
		cmocka_unit_test(restart_syscall_continues),
		cmocka_unit_test(restart_syscall_known_by_its_exit_alone),
		cmocka_unit_test(the_same_call_issued_again_continues),
		cmocka_unit_test(eintr_from_a_handler_ends_the_call_at_its_exit),
		cmocka_unit_test(a_restart_code_with_nothing_pending_is_nothing),
		cmocka_unit_test(a_suspended_call_at_the_end_is_unmatched),
		cmocka_unit_test(neighbours_of_the_restart_codes),
		cmocka_unit_test(other_policies_ignore_restarts),
		cmocka_unit_test(collections_pair_by_thread),
		cmocka_unit_test(ranges_pair_by_kind_and_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
