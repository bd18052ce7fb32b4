/* SPDX-License-Identifier: Apache-2.0 */
/* Interrupted calls: restarted, given EINTR, stopped, left by a jump, nested, and handlers that make the same call. One call is one call.
 */
#include "syscalls_run.h"

#include <errno.h>

static struct shared *handler_shared;
static sigjmp_buf leave_handler;

static void on_signal(int sig)
{
	syscall(SYS_getuid);
	atomic_fetch_add(&handler_shared->signals, 1);
}

/* The very call that was interrupted, from inside the handler: it is another call. */
static void on_signal_reading(int sig)
{
	char c;

	syscall(SYS_pread64, -1, &c, 1, 0);
	syscall(SYS_read, -1, &c, 1);
	atomic_fetch_add(&handler_shared->signals, 1);
}

static void on_signal_jumping(int sig)
{
	atomic_fetch_add(&handler_shared->signals, 1);
	siglongjmp(leave_handler, 1);
}

static void catch (struct shared *shared, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	handler_shared = shared;
	sigaction(SIGUSR1, &action, NULL);
}

static void restarting(struct shared *shared)
{
	catch (shared, on_signal, SA_RESTART);
}

static void failing(struct shared *shared)
{
	catch (shared, on_signal, 0);
}

static void reading(struct shared *shared)
{
	catch (shared, on_signal_reading, SA_RESTART);
}

static void jumping(struct shared *shared)
{
	catch (shared, on_signal_jumping, SA_NODEFER);
}

static void on_other_stack(struct shared *shared)
{
	static char stack[65536];
	stack_t alternative = { .ss_sp = stack, .ss_size = sizeof(stack) };

	sigaltstack(&alternative, NULL);
	catch (shared, on_signal_reading, SA_RESTART | SA_ONSTACK);
}

static void read_body(struct shared *shared)
{
	char c;

	while (syscall(SYS_read, shared->pipe[0], &c, 1) < 0 && errno == EINTR)
		;
}

/* Interrupts the child's read `n` times, then lets it end. */
static void interrupt(struct run *run, int n)
{
	for (int i = 1; i <= n; i++) {
		WAIT_UNTIL(inside(run->child, run->child, SYS_read));
		kill(run->child, SIGUSR1);
		WAIT_UNTIL(atomic_load(&run->shared->signals) == i);
	}
	WAIT_UNTIL(inside(run->child, run->child, SYS_read));
	assert_int_equal(write(run->shared->pipe[1], "x", 1), 1);
}

static void run_reads(struct run *run, void (*before)(struct shared *), int n)
{
	const struct xp_inventory_request request = { 0 };

	start(run, before, read_body);
	open_window(run, &request);
	interrupt(run, n);
	finish_window(run);
	assert_int_equal(run->value->collection.completeness, XP_COMPLETE);
	assert_int_equal(run->value->collection.inflight_at_end, 0);
	assert_null(group_of(run, SYS_rt_sigreturn, false));
	assert_null(group_of(run, SYS_restart_syscall, false));
	assert_int_equal(group_of(run, SYS_read, false)->interrupted, n);
	assert_int_equal(run->value->collection.observed_entries, run->value->collection.matched_exits);
}

static void test_restart(void **state)
{
	struct run run;

	run_reads(&run, restarting, 7);
	assert_int_equal(count_of(&run, SYS_read), 1);
	assert_int_equal(count_of(&run, SYS_getuid), 7);
	assert_int_equal(group_of(&run, SYS_read, false)->errors, 0);
	end(&run);
}

/* The program sees EINTR although sys_exit shows a restart code: each try is a call of its own, none is an error. */
static void test_eintr(void **state)
{
	struct run run;

	run_reads(&run, failing, 5);
	assert_int_equal(count_of(&run, SYS_read), 6);
	assert_int_equal(count_of(&run, SYS_getuid), 5);
	assert_int_equal(group_of(&run, SYS_read, false)->errors, 0);
	end(&run);
}

static void test_same_call_in_handler(void **state)
{
	struct run run;

	run_reads(&run, reading, 3);
	assert_int_equal(count_of(&run, SYS_read), 1 + 3);
	assert_int_equal(errors_of(&run, SYS_read, "EBADF"), 3);
	assert_int_equal(count_of(&run, SYS_pread64), 3);
	end(&run);
}

static void test_signal_stack(void **state)
{
	struct run run;

	run_reads(&run, on_other_stack, 3);
	assert_int_equal(count_of(&run, SYS_read), 1 + 3);
	assert_int_equal(errors_of(&run, SYS_read, "EBADF"), 3);
	end(&run);
}

/* A handler that never returns: the read it left ended at its exit, and is neither open nor continued by the next read. */
static void jump_body(struct shared *shared)
{
	char c;

	if (sigsetjmp(leave_handler, 0))
		syscall(SYS_getgid);
	else
		syscall(SYS_read, shared->pipe[0], &c, 1);
	syscall(SYS_getppid);
}

static void test_jump(void **state)
{
	const struct xp_inventory_request request = { 0 };
	struct run run;

	start(&run, jumping, jump_body);
	open_window(&run, &request);
	WAIT_UNTIL(inside(run.child, run.child, SYS_read));
	kill(run.child, SIGUSR1);
	finish_window(&run);
	assert_int_equal(count_of(&run, SYS_read), 1);
	assert_int_equal(group_of(&run, SYS_read, false)->interrupted, 1);
	assert_int_equal(count_of(&run, SYS_getgid), 1);
	assert_int_equal(run.value->collection.inflight_at_end, 0);
	end(&run);
}

/* A second signal interrupts a read inside the first one's handler. */
static void on_outer_signal(int sig)
{
	char c;

	atomic_fetch_add(&handler_shared->signals, 1);
	read(handler_shared->pipe[0], &c, 1);
}

static void nesting(struct shared *shared)
{
	struct sigaction outer = { .sa_handler = on_outer_signal, .sa_flags = SA_RESTART };

	catch (shared, on_signal, SA_RESTART);
	sigaction(SIGUSR2, &outer, NULL);
}

static void test_nested(void **state)
{
	const struct xp_inventory_request request = { 0 };
	struct run run;

	start(&run, nesting, read_body);
	open_window(&run, &request);
	WAIT_UNTIL(inside(run.child, run.child, SYS_read));
	kill(run.child, SIGUSR2);
	WAIT_UNTIL(atomic_load(&run.shared->signals) == 1 && inside(run.child, run.child, SYS_read));
	kill(run.child, SIGUSR1);
	WAIT_UNTIL(atomic_load(&run.shared->signals) == 2 && inside(run.child, run.child, SYS_read));
	assert_int_equal(write(run.shared->pipe[1], "xy", 2), 2);
	finish_window(&run);
	assert_int_equal(count_of(&run, SYS_read), 2);
	assert_int_equal(group_of(&run, SYS_read, false)->interrupted, 2);
	assert_int_equal(count_of(&run, SYS_getuid), 1);
	assert_null(group_of(&run, SYS_rt_sigreturn, false));
	end(&run);
}

/* rt_sigreturn that belongs to no call is a call of its own. */
static void plain_signal_body(struct shared *shared)
{
	spin(&shared->step);
	while (atomic_load(&shared->signals) < 3)
		__builtin_ia32_pause();
}

static void test_plain_signals(void **state)
{
	const struct xp_inventory_request request = { 0 };
	struct run run;

	start(&run, restarting, plain_signal_body);
	open_window(&run, &request);
	atomic_store(&run.shared->step, 1);
	for (int i = 1; i <= 3; i++) {
		kill(run.child, SIGUSR1);
		WAIT_UNTIL(atomic_load(&run.shared->signals) == i);
		usleep(2000); /* the handler has told before its rt_sigreturn */
	}
	finish_window(&run);
	assert_int_equal(count_of(&run, SYS_rt_sigreturn), 3);
	assert_int_equal(count_of(&run, SYS_getuid), 3);
	assert_int_equal(run.value->collection.observed_entries, 6);
	end(&run);
}

static void sleep_body(struct shared *shared)
{
	struct timespec time = { .tv_nsec = 400000000 };

	for (int i = 0; i < 3; i++) {
		syscall(SYS_nanosleep, &time, NULL);
		atomic_fetch_add(&shared->step, 1);
	}
}

/* SIGSTOP and SIGCONT: the kernel ends the call with -516 and goes on by restart_syscall. */
static void test_stop(void **state)
{
	const struct xp_inventory_request request = { 0 };
	struct run run;

	start(&run, NULL, sleep_body);
	open_window(&run, &request);
	for (int i = 0; i < 2; i++) {
		WAIT_UNTIL(atomic_load(&run.shared->step) == i && inside(run.child, run.child, SYS_nanosleep));
		kill(run.child, SIGSTOP);
		WAIT_UNTIL(state_of(run.child) == 'T');
		kill(run.child, SIGCONT);
	}
	finish_window(&run);
	const struct xp_syscall_group *group = group_of(&run, SYS_nanosleep, false);
	assert_int_equal(group->count, 3);
	assert_int_equal(group->interrupted, 2);
	assert_int_equal(group->errors, 0);
	assert_true(group->duration_ns.min >= 400000000);
	assert_null(group_of(&run, SYS_restart_syscall, false));
	assert_int_equal(run.value->collection.observed_entries, 3);
	end(&run);
}

/* A window that opens between the interruption and the end: the call began before it and is on neither side. */
static void early_sleep(struct shared *shared)
{
	struct timespec time = { .tv_sec = 1, .tv_nsec = 500000000 };

	atomic_store(&shared->ready, 1);
	syscall(SYS_nanosleep, &time, NULL);
}

static void one_call(struct shared *shared)
{
	syscall(SYS_getppid);
}

static void test_stopped_before(void **state)
{
	const struct xp_inventory_request request = { 0 };
	struct run run;

	start(&run, early_sleep, one_call);
	WAIT_UNTIL(inside(run.child, run.child, SYS_nanosleep));
	kill(run.child, SIGSTOP);
	WAIT_UNTIL(state_of(run.child) == 'T');
	open_window(&run, &request);
	kill(run.child, SIGCONT);
	finish_window(&run);
	assert_int_equal(run.value->collection.observed_entries, 1);
	assert_int_equal(run.value->collection.unmatched_exits, 0);
	assert_int_equal(count_of(&run, SYS_getppid), 1);
	assert_int_equal(run.value->inventory.n_groups, 1);
	end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_restart),	      cmocka_unit_test(test_eintr), cmocka_unit_test(test_same_call_in_handler),
		cmocka_unit_test(test_signal_stack),  cmocka_unit_test(test_jump),  cmocka_unit_test(test_nested),
		cmocka_unit_test(test_plain_signals), cmocka_unit_test(test_stop),  cmocka_unit_test(test_stopped_before),
	};
	int skipped = skip_reason();

	return skipped ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
