// SPDX-License-Identifier: Apache-2.0
/* Readings of this very process: newcomers, leavers, a spinner, few descriptors, a full table, and children. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/proc_poll.h"
#include "engine/proc_tree.h"

enum { SLEEPERS = 13 };

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* CPU time, so that a busy machine takes longer but changes nothing. */
static void spin_ms(unsigned ms)
{
	for (uint64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000ull; now_ns(CLOCK_THREAD_CPUTIME_ID) < end;)
		;
}

struct gate {
	pthread_mutex_t lock;
	pthread_t threads[SLEEPERS];
};

static void *wait_at_gate(void *arg)
{
	struct gate *gate = arg;

	pthread_mutex_lock(&gate->lock);
	pthread_mutex_unlock(&gate->lock);
	return NULL;
}

static void start_sleepers(struct gate *gate)
{
	pthread_mutex_init(&gate->lock, NULL);
	pthread_mutex_lock(&gate->lock);
	for (int i = 0; i < SLEEPERS; i++)
		assert_int_equal(pthread_create(&gate->threads[i], NULL, wait_at_gate, gate), 0);
}

static void end_sleepers(struct gate *gate)
{
	pthread_mutex_unlock(&gate->lock);
	for (int i = 0; i < SLEEPERS; i++)
		pthread_join(gate->threads[i], NULL);
}

static struct xp_proc_poll *new_poll(size_t max, size_t fds)
{
	struct xp_proc_poll *poll = NULL;
	xp_auto_err error = { 0 };

	assert_int_equal(xp_proc_poll_new(open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC), max, fds, &poll, &error), 0);
	return poll;
}

/* keep 0: as many descriptors as allowed; 1: all but one row open theirs anew. Both must tell the same story. */
static void story(size_t keep)
{
	xp_auto(xp_proc_poll_free) struct xp_proc_poll *poll = new_poll(1000, keep);
	struct gate before, during;
	xp_auto_err error = { 0 };
	size_t n;

	start_sleepers(&before);
	assert_int_equal(xp_proc_poll_begin(poll, &error), 0);
	xp_proc_poll_threads(poll, &n);
	assert_int_equal(n, SLEEPERS + 1);
	start_sleepers(&during);
	spin_ms(60);
	assert_int_equal(xp_proc_poll_sweep(poll, &error), 0);
	end_sleepers(&before);
	assert_int_equal(xp_proc_poll_sweep(poll, &error), 0);
	xp_proc_poll_end(poll);
	end_sleepers(&during);

	const struct xp_proc_thread *rows = xp_proc_poll_threads(poll, &n);
	unsigned started = 0, ended = 0;
	uint64_t cpu_ns;

	assert_int_equal(n, 2 * SLEEPERS + 1);
	for (size_t i = 0; i < n; i++) {
		started += rows[i].started;
		ended += rows[i].ended;
		assert_true(rows[i].known);
		if (rows[i].tid == (uint32_t)getpid()) {
			assert_int_equal(rows[i].state, 'R');
			assert_true(rows[i].last.sched.cpu_ns - rows[i].base.sched.cpu_ns > 20000000);
		}
	}
	assert_int_equal(started, SLEEPERS);
	assert_int_equal(ended, SLEEPERS);
	assert_int_equal(xp_proc_poll_missed(poll), 0);
	assert_int_equal(xp_proc_poll_sweeps(poll, &cpu_ns), 4);
	assert_true(cpu_ns > 0);
}

static void threads_come_and_go(void **state)
{
	story(0);
}

static void few_descriptors_tell_the_same(void **state)
{
	story(1);
}

static void full_table_is_counted(void **state)
{
	xp_auto(xp_proc_poll_free) struct xp_proc_poll *poll = new_poll(5, 0);
	struct gate gate;
	xp_auto_err error = { 0 };
	size_t n;

	start_sleepers(&gate);
	assert_int_equal(xp_proc_poll_begin(poll, &error), 0);
	xp_proc_poll_threads(poll, &n);
	assert_int_equal(n, 5);
	assert_int_equal(xp_proc_poll_missed(poll), SLEEPERS + 1 - 5);
	end_sleepers(&gate);
}

static void gone_process_is_told(void **state)
{
	pid_t child = fork();
	char path[64];
	struct xp_proc_poll *poll = NULL;
	xp_auto_err error = { 0 };

	if (!child)
		for (;;)
			pause();
	snprintf(path, sizeof(path), "/proc/%d/task", child);
	assert_int_equal(xp_proc_poll_new(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), 10, 0, &poll, &error), 0);
	assert_int_equal(xp_proc_poll_begin(poll, &error), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(xp_proc_poll_sweep(poll, &error), -XP_E_TARGET_EXITED);
	xp_proc_poll_end(poll);
	xp_proc_poll_free(poll);
}

/* Ends with its parent, which may fail: a child that is left would keep the output open. */
static void die_with_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void descendants_are_counted(void **state)
{
	xp_auto(xp_tree_free) struct xp_tree *tree = xp_tree_new((uint32_t)getpid());
	int worked[2];
	char byte;
	pid_t idle = fork();

	if (!idle) {
		die_with_parent();
		for (;;)
			pause();
	}
	xp_tree_begin(tree);
	assert_int_equal(tree->total, 1);
	xp_tree_rebase(tree);
	assert_int_equal(pipe(worked), 0);
	pid_t busy = fork();
	if (!busy) {
		die_with_parent();
		pid_t grandchild = fork();

		if (!grandchild) {
			die_with_parent();
			spin_ms(90);
			if (write(worked[1], "", 1) == 1)
				pause();
		}
		waitpid(grandchild, NULL, 0);
		_exit(0);
	}
	assert_int_equal(read(worked[0], &byte, 1), 1);
	xp_tree_end(tree);
	assert_int_equal(tree->total, 3);
	assert_true(tree->complete);
	assert_false(tree->nodes[0].started);
	assert_true(tree->nodes[1].started && tree->nodes[2].started);
	assert_true(xp_tree_cpu_ns(tree) > 10000000);
	kill(idle, SIGKILL);
	kill(busy, SIGKILL);
	waitpid(idle, NULL, 0);
	waitpid(busy, NULL, 0);
	close(worked[0]);
	close(worked[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_come_and_go),	   cmocka_unit_test(few_descriptors_tell_the_same),
		cmocka_unit_test(full_table_is_counted),   cmocka_unit_test(gone_process_is_told),
		cmocka_unit_test(descendants_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
