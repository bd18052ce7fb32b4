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

static bool found_in(const char *name)
{
	char types[80], modules[80];

	snprintf(types, sizeof(types), "%s/btf", root);
	snprintf(modules, sizeof(modules), "%s/modules", root);
	return !untyped(types, modules, name);
}

static void put(const char *relative, const char *bytes, size_t n)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", root, relative);
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

static void test_types_know_without_tracefs(void **state)
{
	assert_true(found_in("one")); /* no types: it may exist */
	make("btf", true);
	put("btf/vmlinux", "\0btf_trace_one\0", 15);
	assert_false(found_in("two"));
	put("modules", "ext9 4096 0 - Live 0x0\n", 23);
	assert_true(found_in("one"));
	assert_true(found_in("two")); /* a module without types */
	put("btf/ext9", "\0btf_trace_other_two\0btf_trace_three\0", 38);
	assert_false(found_in("two"));
	assert_false(found_in("on"));
	assert_true(found_in("three"));
}

static void test_without_tracefs(void **state)
{
	const char *const none[] = { "/nonexistent/events", NULL };
	struct xp_endpoint call = { .selector = "tracepoint:syscalls:y", .tracepoint = { .category = "syscalls", .name = "y" } },
			   here = { .selector = "tracepoint:sched:sched_switch",
				    .tracepoint = { .category = "sched", .name = "sched_switch" } };
	xp_auto_err err = { 0 };

	assert_int_equal(resolve_in(none, &call, &err), 0);
	assert_int_equal(resolve_in(none, &here, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_resolve), cmocka_unit_test(test_types_know_without_tracefs),
					    cmocka_unit_test(test_without_tracefs) };

	return cmocka_run_group_tests(tests, setup, teardown);
}
