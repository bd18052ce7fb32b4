/* SPDX-License-Identifier: Apache-2.0 */
/* Fault: a target that ended, waits for its parent, executes another program or lost its main thread was taken for something else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "target/target_priv.h"

enum { THREADS = 2003 };

static void reap(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static pid_t spawn_sleeper(void)
{
	pid_t child = fork();

	if (!child)
		for (;;)
			pause();
	return child;
}

static void expect_open(pid_t pid, const struct xp_target_id *expected, int rc)
{
	struct xp_target *target = NULL;
	xp_auto_err err = { 0 };

	assert_int_equal(xp_target_open((uint32_t)pid, expected, &target, &err), rc);
	assert_int_equal(err.code, -rc);
	if (rc)
		assert_null(target);
	xp_target_close(target);
}

static void ended(void **state)
{
	pid_t child = spawn_sleeper();
	struct xp_target *target;
	struct xp_stat stat;
	xp_auto_err err = { 0 };
	uint64_t ns;

	assert_int_equal(xp_target_open((uint32_t)child, NULL, &target, &err), 0);
	assert_int_equal(xp_target_check(target, &err), 0);
	kill(child, SIGKILL);
	siginfo_t info;
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);

	/* Zombie: its number still answers, but the process is over. */
	assert_int_equal(xp_target_check(target, &err), -XP_E_TARGET_EXITED);
	expect_open(child, NULL, -XP_E_TARGET_EXITED);
	waitpid(child, NULL, 0);
	assert_int_equal(xp_target_check(target, &err), -XP_E_TARGET_EXITED);
	assert_int_equal(xp_target_stat(target, 0, &stat, &err), -XP_E_TARGET_EXITED);
	assert_int_equal(xp_target_cpu_ns(target, &ns, &err), -XP_E_TARGET_EXITED);
	assert_int_equal(xp_target_maps_refresh(target, &err), -XP_E_TARGET_EXITED);
	expect_open(child, NULL, -XP_E_TARGET_NOT_FOUND);
	xp_target_close(target);
}

static void wrong_expectation(void **state)
{
	struct xp_target *target;
	xp_auto_err err = { 0 };

	assert_int_equal(xp_target_open((uint32_t)getpid(), NULL, &target, &err), 0);
	struct xp_target_id id = *xp_target_identity(target);
	xp_target_close(target);

	assert_int_equal(id.pid, getpid());
	assert_true(id.pid_namespace.set);
	expect_open(getpid(), &id, 0);
	id.process_start_time++;
	expect_open(getpid(), &id, -XP_E_TARGET_REUSED);
	id.process_start_time--;
	id.pid_namespace.v++;
	expect_open(getpid(), &id, -XP_E_TARGET_REUSED);
	id.pid_namespace.set = false;
	expect_open(getpid(), &id, 0);
	expect_open(0, NULL, -XP_E_TARGET_NOT_FOUND);
	expect_open(-1, NULL, -XP_E_TARGET_NOT_FOUND);
}

static void exec_is_seen(void **state)
{
	int go[2];
	assert_int_equal(pipe(go), 0);
	pid_t child = fork();

	if (!child) {
		char byte;

		if (read(go[0], &byte, 1) == 1)
			execl("/bin/sleep", "sleep", "60", (char *)NULL);
		_exit(1);
	}
	struct xp_target *target;
	xp_auto_err err = { 0 };
	assert_int_equal(xp_target_open((uint32_t)child, NULL, &target, &err), 0);
	assert_false(xp_target_exec_changed(target));
	assert_int_equal(write(go[1], "x", 1), 1);
	for (unsigned i = 0; i < 500 && !xp_target_exec_changed(target); i++)
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	assert_true(xp_target_exec_changed(target));
	assert_int_equal(xp_target_check(target, &err), 0);
	expect_open(child, xp_target_identity(target), 0);
	reap(child);
	xp_target_close(target);
	close(go[0]);
	close(go[1]);
}

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* After pthread_exit in main the process lives on, but /proc/PID has no memory to show. */
static void main_thread_ended(void **state)
{
	int ready[2];
	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();

	if (!child) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, wait_for_ever, NULL) || write(ready[1], "x", 1) != 1)
			_exit(1);
		syscall(SYS_exit, 0);
	}
	char byte;
	assert_int_equal(read(ready[0], &byte, 1), 1);
	struct xp_target *target = NULL;
	xp_auto_err err = { 0 };
	/* The main thread may end between the open and the look: the target that counts is one opened afterwards. */
	assert_int_equal(xp_target_open((uint32_t)child, NULL, &target, &err), 0);
	for (unsigned i = 0; i < 5000; i++) {
		struct xp_stat stat;

		assert_int_equal(xp_target_stat(target, 0, &stat, &err), 0);
		if (stat.state == 'Z')
			break;
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	}
	xp_target_close(target);
	assert_int_equal(xp_target_open((uint32_t)child, NULL, &target, &err), 0);
	assert_int_not_equal(target->view_id, child);
	assert_int_equal(xp_target_check(target, &err), 0);
	const struct xp_mapping *code = xp_maps_find(xp_target_maps(target), (uint64_t)(uintptr_t)wait_for_ever);
	assert_non_null(code);
	int fd;
	assert_int_equal(xp_target_open_mapping(target, code, &fd, &err), 0);
	close(fd);
	reap(child);
	xp_target_close(target);
	close(ready[0]);
	close(ready[1]);
}

/* The same when the main thread ends after the first look. */
static void main_thread_ends_later(void **state)
{
	int go[2];
	assert_int_equal(pipe(go), 0);
	pid_t child = fork();

	if (!child) {
		pthread_t thread;
		char byte;

		if (pthread_create(&thread, NULL, wait_for_ever, NULL) || read(go[0], &byte, 1) != 1)
			_exit(1);
		syscall(SYS_exit, 0);
	}
	struct xp_target *target;
	struct xp_stat stat = { 0 };
	xp_auto_err err = { 0 };
	assert_int_equal(xp_target_open((uint32_t)child, NULL, &target, &err), 0);
	size_t before = xp_target_maps(target)->n;
	assert_int_equal(write(go[1], "x", 1), 1);
	for (unsigned i = 0; i < 500 && stat.state != 'Z'; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
		assert_int_equal(xp_target_stat(target, 0, &stat, &err), 0);
	}
	assert_int_equal(stat.state, 'Z');
	assert_int_equal(xp_target_check(target, &err), 0);
	assert_int_equal(xp_target_maps_refresh(target, &err), 0);
	assert_true(xp_target_maps(target)->n >= before / 2);
	assert_false(xp_target_exec_changed(target));
	reap(child);
	assert_int_equal(xp_target_maps_refresh(target, &err), -XP_E_TARGET_EXITED);
	xp_target_close(target);
	close(go[0]);
	close(go[1]);
}

static void threads_are_counted(void **state)
{
	static pthread_t threads[THREADS];
	struct xp_arena *arena = xp_arena_new();
	struct xp_target *target;
	pthread_attr_t attr;
	xp_auto_err err = { 0 };
	uint32_t *tids;
	size_t n;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], &attr, wait_for_ever, NULL), 0);
	assert_int_equal(xp_target_open((uint32_t)getpid(), NULL, &target, &err), 0);
	assert_int_equal(xp_target_threads(target, arena, &tids, &n, &err), 0);
	assert_int_equal(n, THREADS + 1);
	for (size_t i = 1; i < n; i++)
		assert_true(tids[i - 1] < tids[i]);
	expect_open((pid_t)tids[n - 1], NULL, -XP_E_TARGET_NOT_FOUND); /* a thread is not a process */
	struct xp_stat stat;
	assert_int_equal(xp_target_stat(target, tids[n - 1], &stat, &err), 0);
	assert_int_equal(stat.ppid, getppid());
	xp_target_close(target);
	xp_arena_free(arena);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_cancel(threads[i]);
		pthread_join(threads[i], NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ended),
		cmocka_unit_test(wrong_expectation),
		cmocka_unit_test(exec_is_seen),
		cmocka_unit_test(main_thread_ended),
		cmocka_unit_test(main_thread_ends_later),
		cmocka_unit_test(threads_are_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
