/* SPDX-License-Identifier: Apache-2.0 */
/* The process itself in the window: exit, kill, vfork, and exec by a thread that is not the first. */
#include "syscalls_run.h"

static const char *program; /* this test, for exec */

static void exit_body(struct shared *shared)
{
	for (int i = 0; i < 17; i++)
		syscall(SYS_getppid);
	syscall(SYS_exit_group, 0);
}

static void test_exit(void **state)
{
	const struct xp_inventory_request request = { 0 };
	struct run run;

	start(&run, NULL, exit_body);
	open_window(&run, &request);
	finish_window(&run);
	assert_int_equal(count_of(&run, SYS_getppid), 17);
	assert_int_equal(run.value->collection.observed_entries, 18);
	assert_int_equal(run.value->collection.no_return_calls, 1);
	assert_int_equal(run.value->collection.inflight_at_end, 0);
	end(&run);
}

static void read_body(struct shared *shared)
{
	char c;

	syscall(SYS_getppid);
	syscall(SYS_read, shared->pipe[0], &c, 1);
}

static void test_killed(void **state)
{
	const struct xp_inventory_request request = { 0 };
	struct run run;

	start(&run, NULL, read_body);
	open_window(&run, &request);
	WAIT_UNTIL(inside(run.child, run.child, SYS_read));
	kill(run.child, SIGKILL);
	finish_window(&run);
	assert_int_equal(run.value->collection.observed_entries, 2);
	assert_int_equal(run.value->collection.matched_exits, 1);
	assert_int_equal(run.value->collection.no_return_calls, 1);
	end(&run);
}

/* The calls of children are theirs. */
static void vfork_body(struct shared *shared)
{
	for (int i = 0; i < 3; i++) {
		pid_t child = vfork();

		if (!child) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		syscall(SYS_wait4, child, NULL, 0, NULL);
	}
}

static void test_vfork(void **state)
{
	const struct xp_inventory_request request = { 0 };
	struct run run;

	start(&run, NULL, vfork_body);
	open_window(&run, &request);
	finish_window(&run);
	assert_int_equal(count_of(&run, SYS_vfork), 3);
	assert_int_equal(count_of(&run, SYS_wait4), 3);
	assert_int_equal(count_of(&run, SYS_execve), 0);
	assert_int_equal(run.value->collection.no_return_calls, 0);
	end(&run);
}

/* exec by a thread that is not the leader: it becomes the leader, the others end. */
static void *replace(void *arg)
{
	spin(arg);
	execl(program, program, "after-exec", NULL);
	_exit(1);
}

static void exec_body(struct shared *shared)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, replace, &shared->step))
		_exit(1);
	for (;;)
		syscall(SYS_pause);
}

static int after_exec(void)
{
	for (int i = 0; i < 19; i++)
		syscall(SYS_getppid);
	syscall(SYS_exit_group, 0);
	return 1;
}

static void test_exec(void **state)
{
	const struct xp_inventory_request request = { 0 };
	struct run run;

	start(&run, NULL, exec_body);
	open_window(&run, &request);
	WAIT_UNTIL(inside(run.child, run.child, SYS_pause));
	atomic_store(&run.shared->step, 1);
	finish_window(&run);
	assert_int_equal(count_of(&run, SYS_execve), 1);
	assert_int_equal(group_of(&run, SYS_execve, false)->errors, 0);
	assert_int_equal(count_of(&run, SYS_getppid), 19);
	assert_int_equal(run.value->collection.no_return_calls, 2); /* pause of the old leader, exit_group */
	for (size_t i = 0; i < run.value->n_thread_calls; i++)
		if (run.value->thread_calls[i].syscall_number == SYS_getppid)
			assert_int_equal(run.value->thread_calls[i].tid, run.child);
	assert_int_equal(run.value->collection.unmatched_exits, 0);
	end(&run);
}

/* The window closes while every thread is in the middle of something; the harness checks that the books close. */
static void *hammer(void *arg)
{
	struct timespec nap = { .tv_nsec = 1000 };
	char c;

	for (;;) {
		syscall(SYS_getppid);
		syscall(SYS_read, -1, &c, 1);
		syscall(SYS_nanosleep, &nap, NULL);
	}
	return NULL;
}

static void hammering(struct shared *shared)
{
	pthread_t thread;

	for (int i = 0; i < 7; i++)
		if (pthread_create(&thread, NULL, hammer, NULL))
			_exit(1);
}

static void nothing(struct shared *shared)
{
}

static void test_busy_close(void **state)
{
	const struct xp_inventory_request request = { 0 };

	for (int i = 0; i < 5; i++) {
		xp_auto_err err = { 0 };
		struct run run;

		start(&run, hammering, nothing);
		open_window(&run, &request);
		usleep(50000);
		must(xp_inventory_syscalls.ops->drain(run.state, &err), &err);
		close_window(&run);
		assert_true(run.value->collection.observed_entries > 7);
		assert_int_equal(run.value->collection.unmatched_exits, 0);
		assert_int_equal(run.value->collection.completeness, XP_COMPLETE);
		end(&run);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exit), cmocka_unit_test(test_killed),	cmocka_unit_test(test_vfork),
		cmocka_unit_test(test_exec), cmocka_unit_test(test_busy_close),
	};

	if (argc > 1)
		return after_exec();
	program = argv[0];
	int skipped = skip_reason();

	return skipped ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
