/* SPDX-License-Identifier: Apache-2.0 */
/* Text cutting, numbers, regular expressions, maps: the small tools everything stands on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/hash.h"
#include "base/parse.h"
#include "base/regex.h"
#include "base/text.h"

static void cuts_fall_between_characters(void **state)
{
	struct xp_arena *arena = xp_arena_new();
	bool cut;

	assert_string_equal(xp_utf8_cut(arena, "abc", 3, &cut), "abc");
	assert_false(cut);
	assert_string_equal(xp_utf8_cut(arena, "abcdefgh", 7, &cut), "abcd\xe2\x80\xa6");
	assert_true(cut);
	assert_string_equal(xp_utf8_cut(arena, "abc\xc3\xa9\xc3\xa9\xc3\xa9", 7, &cut), "abc\xe2\x80\xa6");
	assert_string_equal(xp_utf8_clean(arena, "twelve_lette\xc3", 13), "twelve_lette\xef\xbf\xbd");
	xp_arena_free(arena);
}

static void builder_records_truncation(void **state)
{
	struct xp_text text = { .limit = 5 };

	xp_text_fmt(&text, "%s", "abc");
	assert_false(text.cut);
	xp_text_fmt(&text, "%s", "def");
	assert_true(text.cut);
	assert_string_equal(text.data, "abcde");
	xp_text_done(&text);
}

static void numbers_take_nothing_but_digits(void **state)
{
	static const char *const bad[] = { "", " 1", "1 ", "+1", "-1", "1x", "0x1", "18446744073709551616", "1e3" };
	uint64_t value;
	double share;

	for (size_t i = 0; i < XP_LEN(bad); i++)
		assert_false(xp_parse_u64(bad[i], &value));
	assert_true(xp_parse_u64("18446744073709551615", &value) && value == UINT64_MAX);
	assert_true(xp_parse_hex("fF", &value) && value == 255);
	assert_false(xp_parse_hex("0xff", &value));
	assert_true(xp_parse_share("0.05", &share) && share == 0.05);
	assert_false(xp_parse_share("nan", &share));
	assert_false(xp_parse_share("-0.1", &share));
	assert_false(xp_parse_share("0.1.2", &share));
}

static int found(const char *pattern, const char *text)
{
	struct xp_err err = { 0 };
	xp_auto(xp_regex_free) struct xp_regex *regex = NULL;

	if (xp_regex_new(pattern, &regex, &err)) {
		assert_int_equal(err.code, XP_E_INVALID_EVENT_SELECTOR);
		xp_err_done(&err);
		return -1;
	}
	int rc = xp_regex_search(regex, text, strlen(text), &err);
	xp_err_done(&err);
	return rc;
}

static void patterns_are_searched_and_bounded(void **state)
{
	char long_pattern[1100];

	assert_int_equal(found("flash.*fwd", "void flash_attn_fwd<1>"), 1);
	assert_int_equal(found("^flash", "void flash"), 0);
	assert_int_equal(found("a[(?=]b", "a?b"), 1);
	assert_int_equal(found("\xc3\xa9+$", "caf\xc3\xa9"), 1);
	assert_int_equal(found("x", "\xff\xffx"), 1);
	assert_int_equal(found("(?=a)", "a"), -1);
	assert_int_equal(found("(?<!a)b", "b"), -1);
	assert_int_equal(found("(a)\\1", "aa"), -1);
	assert_int_equal(found("(a", "a"), -1);
	assert_int_equal(found("", "a"), -1);
	memset(long_pattern, 'a', sizeof(long_pattern) - 1);
	long_pattern[sizeof(long_pattern) - 1] = '\0';
	assert_int_equal(found(long_pattern, "a"), -1);
}

/* Nested repeats over a long text would run for ages in a backtracking matcher; here it must answer or refuse, not hang. */
static void hostile_patterns_end(void **state)
{
	char text[4001];

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	int rc = found("((a+)+)+$x", text);
	assert_true(rc <= 0);
}

static void map_keeps_every_key(void **state)
{
	struct xp_map map = { 0 };
	bool is_new;

	for (uint64_t i = 0; i < 10007; i++)
		*xp_map_at(&map, i * 4096, NULL, NULL, &is_new) = i;
	assert_int_equal(map.n, 10007);
	for (uint64_t i = 0; i < 10007; i++)
		assert_int_equal(*xp_map_find(&map, i * 4096, NULL, NULL), i);
	assert_null(xp_map_find(&map, 1, NULL, NULL));
	xp_map_done(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuts_fall_between_characters),
		cmocka_unit_test(builder_records_truncation),
		cmocka_unit_test(numbers_take_nothing_but_digits),
		cmocka_unit_test(patterns_are_searched_and_bounded),
		cmocka_unit_test(hostile_patterns_end),
		cmocka_unit_test(map_keeps_every_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
