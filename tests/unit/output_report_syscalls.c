/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a system call inventory: bounded lines, no control bytes from names, no colour unless asked, everything counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "inventory/syscalls.h"
#include "output/human.h"

static const struct xp_count errnos[] = { { "EAGAIN", 101 }, { "EBADF", 7 }, { "EIO", 5 }, { "EPERM", 3 } };
static struct xp_syscall_group groups[31];
static struct xp_syscall_open open_calls[11];
static const struct xp_syscall_threads threads[] = { { "worker-#", 97, 1009, 123456789012 }, { "\033[31mred", 1, 2, 3 } };

static struct xp_syscalls value(void)
{
	for (size_t i = 0; i < XP_LEN(groups); i++)
		groups[i] = (struct xp_syscall_group){
			.syscall_number = 100000 + (uint32_t)i,
			.count = 999999999999,
			.duration_ns = { 1, 9.5e12, 3600000000000, 99999999999999 },
			.errors_by_errno = errnos,
			.n_errors_by_errno = i % 2 ? XP_LEN(errnos) : 0,
			.compat = i % 3 == 0,
			.syscall_name = i % 5 ? "a_rather_long_name_of_a_call" : NULL,
		};
	for (size_t i = 0; i < XP_LEN(open_calls); i++)
		open_calls[i] = (struct xp_syscall_open){ .tid = UINT32_MAX,
							  .thread_name = "\x1b]0;x\x07 name",
							  .syscall_name = "futex",
							  .age_ns = 3600000000000,
							  .started_before_window = i % 2 };
	return (struct xp_syscalls){
		.inventory = { .groups = groups, .n_groups = XP_LEN(groups) },
		.open_at_end = open_calls,
		.n_open_at_end = XP_LEN(open_calls),
		.threads = threads,
		.n_threads = XP_LEN(threads),
		.collection = { .groups = 41, .inflight_at_end = 23, .window_ns = 1000000000, .matched_exits = 4711 },
	};
}

static void test_bounded_and_safe(void **state)
{
	struct xp_syscalls syscalls = value();
	xp_auto_builder text = { 0 };

	xp_syscalls_report(&syscalls, &text, false);
	for (const char *line = text.data; *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= XP_REPORT_COLUMNS + 2); /* an ellipsis is three bytes in one column */
	assert_null(strchr(text.data, '\033'));
	assert_null(strchr(text.data, '\007'));
	assert_non_null(strstr(text.data, "4711 calls completed, 23 open at the end"));
	assert_non_null(strstr(text.data, "21 more with less time"));
	assert_non_null(strstr(text.data, "15 more\n"));
	assert_non_null(strstr(text.data, "number 100010"));
}

static void test_nothing(void **state)
{
	struct xp_syscalls syscalls = { .collection = { .window_ns = 5 } };
	xp_auto_builder text = { 0 };

	xp_syscalls_report(&syscalls, &text, true);
	assert_non_null(strstr(text.data, "0 calls completed, 0 open"));
	assert_non_null(strchr(text.data, '\033'));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_bounded_and_safe), cmocka_unit_test(test_nothing) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
