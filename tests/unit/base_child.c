/* SPDX-License-Identifier: Apache-2.0 */
/* Fault: a driver call that hung or crashed took the tool with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"

enum { REPLY_BYTES = 100003 }; /* more than a pipe holds */

static ssize_t fill(void *arg, char *reply, size_t size)
{
	memset(reply, *(const char *)arg, size);
	return (ssize_t)size;
}

static ssize_t hang(void *arg, char *reply, size_t size)
{
	for (;;)
		pause();
	return 0;
}

static ssize_t crash(void *arg, char *reply, size_t size)
{
	raise(SIGKILL);
	return 0;
}

static ssize_t give_up(void *arg, char *reply, size_t size)
{
	return -1;
}

static ssize_t say_nothing(void *arg, char *reply, size_t size)
{
	return 0;
}

static void replies(void **state)
{
	static char reply[REPLY_BYTES];
	char letter = 'q';

	assert_int_equal(xp_child_call(fill, &letter, 5000, reply, sizeof(reply)), REPLY_BYTES);
	assert_int_equal(reply[0], 'q');
	assert_int_equal(reply[REPLY_BYTES - 1], 'q');
	assert_int_equal(xp_child_call(say_nothing, NULL, 5000, reply, sizeof(reply)), 0);
}

static void failures(void **state)
{
	struct timespec start, end;
	char reply[8];

	assert_int_equal(xp_child_call(crash, NULL, 5000, reply, sizeof(reply)), -ECHILD);
	assert_int_equal(xp_child_call(give_up, NULL, 5000, reply, sizeof(reply)), -ECHILD);
	clock_gettime(CLOCK_MONOTONIC, &start);
	assert_int_equal(xp_child_call(hang, NULL, 50, reply, sizeof(reply)), -ETIME);
	clock_gettime(CLOCK_MONOTONIC, &end);
	assert_true(end.tv_sec - start.tv_sec < 5);
	/* Nothing of ours is left running. */
	while (waitpid(-1, NULL, 0) > 0)
		;
	assert_int_equal(errno, ECHILD);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(replies), cmocka_unit_test(failures) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
