// SPDX-License-Identifier: Apache-2.0
/* Name patterns: digits collapse, other bytes stay, broken UTF-8 is repaired. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "target/thread_pattern.h"

static void digits_collapse(void **state)
{
	static const struct {
		const char *name, *pattern;
	} rows[] = {
		{ "worker-12", "worker-#" },
		{ "12", "#" },
		{ "a1b22c333", "a#b#c#" },
		{ "main", "main" },
		{ "", "" },
		{ NULL, "" },
		{ "twelve_lette\xc3", "twelve_lette\xef\xbf\xbd" },
	};
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();

	for (size_t i = 0; i < XP_LEN(rows); i++)
		assert_string_equal(xp_thread_pattern(arena, rows[i].name), rows[i].pattern);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(digits_collapse) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
