// SPDX-License-Identifier: Apache-2.0
/* Fault: a child of the tool held copies of its probes' descriptors, and a library that hung held up the window. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/worker.h"

enum { BYTES = 100003, ECHO, COUNT_FILES, HANG, CRASH, GIVE_UP, NOTHING, TOO_LONG };

static void *begin(void)
{
	return strdup("context");
}

static ssize_t count_files(char *reply)
{
	DIR *files = opendir("/proc/self/fd");
	char n = 0;

	for (struct dirent *entry = readdir(files); entry; entry = readdir(files))
		n += entry->d_name[0] != '.';
	reply[0] = (char)(n - 1); /* the directory itself */
	return 1;
}

static ssize_t answer(void *context, const struct xp_worker_request *request, void *reply, size_t size)
{
	if (strcmp(context, "context") != 0)
		return -1;
	switch (request->kind) {
	case ECHO:
		memset(reply, (int)request->arg, BYTES);
		return BYTES;
	case COUNT_FILES:
		return count_files(reply);
	case HANG:
		for (;;)
			pause();
	case CRASH:
		raise(SIGKILL);
	}
	if (request->kind == TOO_LONG)
		return 3 * BYTES;
	return request->kind == NOTHING ? 0 : -1;
}

static const struct xp_worker_job job = { begin, answer, BYTES };

static struct xp_worker *worker(void)
{
	struct xp_worker *started = NULL;
	xp_auto_err err = { 0 };

	assert_int_equal(xp_worker_start(&job, &started, &err), 0);
	return started;
}

static bool ask(struct xp_worker *w, uint32_t kind, uint64_t arg)
{
	return xp_worker_ask(w, &(struct xp_worker_request){ kind, arg });
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void replies_in_order(void **state)
{
	xp_auto(xp_worker_stop) struct xp_worker *w = worker();
	static char reply[BYTES];

	for (char letter = 'a'; letter < 'h'; letter++)
		assert_true(ask(w, ECHO, (uint64_t)letter));
	assert_true(ask(w, NOTHING, 0));
	assert_int_equal(xp_worker_waiting(w), 8);
	for (char letter = 'a'; letter < 'h'; letter++) {
		assert_int_equal(xp_worker_take(w, 5000, reply, sizeof(reply)), BYTES);
		assert_true(reply[0] == letter && reply[BYTES - 1] == letter);
	}
	assert_int_equal(xp_worker_take(w, 5000, reply, sizeof(reply)), 0);
	assert_int_equal(xp_worker_waiting(w), 0);
	assert_int_equal(xp_worker_take(w, 0, reply, sizeof(reply)), -ETIME);
}

static void holds_none_of_our_files(void **state)
{
	int extra[2];
	char n;

	assert_int_equal(pipe(extra), 0);
	xp_auto(xp_worker_stop) struct xp_worker *w = worker();
	assert_true(ask(w, COUNT_FILES, 0));
	assert_int_equal(xp_worker_take(w, 5000, &n, sizeof(n)), 1);
	assert_int_equal(n, 4); /* three to nowhere and the socket */
	close(extra[0]);
	close(extra[1]);
}

static void ends(void **state)
{
	static const uint32_t kinds[] = { CRASH, GIVE_UP };
	char reply;

	for (size_t i = 0; i < XP_LEN(kinds); i++) {
		xp_auto(xp_worker_stop) struct xp_worker *w = worker();

		assert_true(ask(w, kinds[i], 0));
		assert_int_equal(xp_worker_take(w, 5000, &reply, 1), -ECHILD);
		assert_false(ask(w, ECHO, 'x'));
	}
}

/* Fault: after a reply longer than any may be, the next call read it behind the end of the room for replies. */
static void a_reply_that_is_too_long(void **state)
{
	xp_auto(xp_worker_stop) struct xp_worker *w = worker();
	char reply;

	assert_true(ask(w, TOO_LONG, 0));
	for (int i = 0; i < 3; i++)
		assert_int_equal(xp_worker_take(w, 5000, &reply, 1), -EPROTO);
}

static void hangs(void **state)
{
	struct xp_worker *w = worker();
	double begin_s = seconds();
	unsigned asked = 1;
	char reply;

	assert_true(ask(w, HANG, 0));
	assert_int_equal(xp_worker_take(w, 100, &reply, 1), -ETIME);
	while (asked < 1000 && ask(w, ECHO, 'x'))
		asked++;
	assert_int_equal(asked, 100);
	xp_worker_stop(w);
	assert_true(seconds() - begin_s < 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(replies_in_order), cmocka_unit_test(holds_none_of_our_files),
					    cmocka_unit_test(ends), cmocka_unit_test(a_reply_that_is_too_long), cmocka_unit_test(hangs) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
