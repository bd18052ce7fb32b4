/* SPDX-License-Identifier: Apache-2.0 */
/* Fault: names with colons could not be written, and paths with colons were cut at the wrong place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "family/uprobe_parse.h"

static int parse(struct xp_arena *arena, const char *text, struct xp_endpoint *ep)
{
	xp_auto_err err = { 0 };

	*ep = (struct xp_endpoint){ .selector = text };
	int rc = xp_uprobe_parse(text, arena, ep, &err);
	assert_true(!rc || rc == -XP_E_INVALID_EVENT_SELECTOR);
	return rc;
}

static void good_selectors(void **state)
{
	static const struct {
		const char *text, *path, *name, *version;
		enum xp_uprobe_target target;
		enum xp_boundary boundary;
		bool default_version;
		uint64_t offset;
	} good[] = {
		{ "uprobe:/a:main:entry", "/a", "main", NULL, XP_UPROBE_SYMBOL, XP_AT_ENTRY, false, 0 },
		{ "uprobe:/a b:c:main:return", "/a b:c", "main", NULL, XP_UPROBE_SYMBOL, XP_AT_EXIT, false, 0 },
		{ "uprobe:/a:f@V_1:entry", "/a", "f", "V_1", XP_UPROBE_SYMBOL, XP_AT_ENTRY, false, 0 },
		{ "uprobe:/a:f@@V_2:entry", "/a", "f", "V_2", XP_UPROBE_SYMBOL, XP_AT_ENTRY, true, 0 },
		{ "uprobe:/a:@odd:entry", "/a", "@odd", NULL, XP_UPROBE_SYMBOL, XP_AT_ENTRY, false, 0 },
		{ "uprobe:/a:+0x1fF:entry", "/a", NULL, NULL, XP_UPROBE_OFFSET, XP_AT_ENTRY, false, 0x1ff },
		{ "uprobe:/a:symbol=ns::f(int):return", "/a", "ns::f(int)", NULL, XP_UPROBE_FULL_NAME, XP_AT_EXIT, false, 0 },
		{ "uprobe:/a:b:symbol=f:symbol=g:entry", "/a:b", "f:symbol=g", NULL, XP_UPROBE_FULL_NAME, XP_AT_ENTRY, false, 0 },
		{ "uprobe:/a:symbol=:entry:entry", "/a", ":entry", NULL, XP_UPROBE_FULL_NAME, XP_AT_ENTRY, false, 0 },
	};
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_endpoint ep;

	for (size_t i = 0; i < XP_LEN(good); i++) {
		assert_int_equal(parse(arena, good[i].text, &ep), 0);
		assert_string_equal(ep.uprobe.path, good[i].path);
		assert_int_equal(ep.uprobe.target, good[i].target);
		assert_int_equal(ep.boundary, good[i].boundary);
		assert_int_equal(ep.type, good[i].boundary == XP_AT_EXIT ? XP_EV_HOST_FUNCTION_EXIT : XP_EV_HOST_FUNCTION_ENTRY);
		assert_int_equal(ep.uprobe.default_version, good[i].default_version);
		assert_int_equal(ep.uprobe.offset, good[i].offset);
		if (good[i].name)
			assert_string_equal(ep.uprobe.name, good[i].name);
		if (good[i].version)
			assert_string_equal(ep.uprobe.version, good[i].version);
		else
			assert_null(ep.uprobe.version);
	}
}

static void bad_selectors(void **state)
{
	static const char *const bad[] = {
		"uprobe:",
		"uprobe:/a",
		"uprobe:/a:main",
		"uprobe:/a:main:exit",
		"uprobe:/a::entry",
		"uprobe::main:entry",
		"uprobe:/a:+0x:entry",
		"uprobe:/a:+0xzz:entry",
		"uprobe:/a:f@:entry",
		"uprobe:/a:f@@:entry",
		"uprobe:/a:f@@@V:entry",
		"uprobe:/a:symbol=:entry",
		"uprobe:/a:+0x10000000000000000:entry",
		"uprobe:/a:main:Entry",
		"uprobe:/a:main:entry ",
		"uprobe:main:entry",
	};
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_endpoint ep;

	for (size_t i = 0; i < XP_LEN(bad); i++)
		if (parse(arena, bad[i], &ep) != -XP_E_INVALID_EVENT_SELECTOR)
			fail_msg("accepted: %s", bad[i]);
}

static void length_is_bounded(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	char *text = xp_arena_zalloc(arena, 8300);
	struct xp_endpoint ep;

	memcpy(text, "uprobe:/", 8);
	memset(text + 8, 'a', 8192 - 8 - 8);
	memcpy(text + 8192 - 8, ":f:entry", 8);
	assert_int_equal(strlen(text), 8192);
	assert_int_equal(parse(arena, text, &ep), 0);
	memcpy(text + 8192 - 8, "a:f:entry", 9);
	assert_int_equal(parse(arena, text, &ep), -XP_E_INVALID_EVENT_SELECTOR);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(good_selectors), cmocka_unit_test(bad_selectors),
					    cmocka_unit_test(length_is_bounded) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
