/* SPDX-License-Identifier: Apache-2.0 */
/* Tracepoint lookup on a made-up tracefs: present, absent with neighbours, not a directory, and not mounted at all. */
#include "family/tracepoint.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static char root[64];

static void make(const char *relative, bool directory)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", root, relative);
	if (directory) {
		assert_int_equal(mkdir(path, 0700), 0);
		return;
	}
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static int setup(void **state)
{
	snprintf(root, sizeof(root), "/tmp/xp-tracefs-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	make("sched", true);
	make("sched/enable", false);
	make("sched/sched_switch", true);
	make("sched/sched_wakeup", true);
	return 0;
}

static int teardown(void **state)
{
	char command[120];

	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static int look(const char *first_root, const char *category, const char *name, struct xp_err *reterr)
{
	const char *const roots[] = { first_root, root, NULL };
	struct xp_endpoint ep = { .selector = "tracepoint:x:y", .tracepoint = { .category = category, .name = name } };

	return resolve_in(roots, &ep, reterr);
}

static void test_resolve(void **state)
{
	xp_auto_err err = { 0 };

	assert_int_equal(look("/nonexistent", "sched", "sched_switch", &err), 0);
	assert_int_equal(look(root, "sched", "sched_sw", &err), -XP_E_SYMBOL_NOT_FOUND);
	assert_int_equal(json_array_size(json_object_get(err.details, "candidates")), 2);
	assert_int_equal(look(root, "sched", "enable", &err), -XP_E_SYMBOL_NOT_FOUND);
	assert_int_equal(look(root, "nothing", "sched_switch", &err), -XP_E_SYMBOL_NOT_FOUND);
}

static void test_unreadable_decides_nothing(void **state)
{
	const char *const none[] = { "/nonexistent/events", NULL };
	struct xp_endpoint ep = { .selector = "tracepoint:x:y", .tracepoint = { .category = "x", .name = "y" } };
	xp_auto_err err = { 0 };

	assert_int_equal(resolve_in(none, &ep, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_resolve), cmocka_unit_test(test_unreadable_decides_nothing) };

	return cmocka_run_group_tests(tests, setup, teardown);
}
