/* SPDX-License-Identifier: Apache-2.0 */
/* Strict text out, 64-bit numbers both ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static void expect(struct xp_text *text, const char *wanted)
{
	assert_string_equal(text->data, wanted);
	xp_text_done(text);
}

static void strings_are_escaped_and_repaired(void **state)
{
	struct xp_text out = { 0 };
	struct xp_json json = { .out = &out };

	xp_json_str(&json, "a\"\\\n\x01\x7f\xc3\xa9\xff\xed\xa0\x80z");
	expect(&out, "\"a\\\"\\\\\\u000a\\u0001\\u007f\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\"");
}

static void numbers_read_back_exactly(void **state)
{
	static const double values[] = { 0.1, 1.0 / 3, 1e300, 5e-324, 123456789.125, 0.30000000000000004 };

	for (size_t i = 0; i < XP_LEN(values); i++) {
		struct xp_text out = { 0 };
		struct xp_json json = { .out = &out };

		xp_json_f64(&json, values[i]);
		assert_true(strtod(out.data, NULL) == values[i]);
		xp_text_done(&out);
	}
	struct xp_text out = { 0 };
	struct xp_json json = { .out = &out };
	xp_json_begin(&json, '[');
	xp_json_f64(&json, 1);
	xp_json_f64(&json, 0.5);
	xp_json_f64(&json, NAN);
	xp_json_f64(&json, INFINITY);
	xp_json_u64(&json, UINT64_MAX);
	xp_json_i64(&json, INT64_MIN);
	xp_json_end(&json, ']');
	expect(&out, "[1.0,0.5,null,null,18446744073709551615,-9223372036854775808]");
}

/* The fewest digits that read back as the number. */
static void numbers_are_short(void **state)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = { { 1200, "1200.0" },
		      { 1e15, "1e+15" },
		      { 0.1, "0.1" },
		      { 1.0 / 3, "0.3333333333333333" },
		      { 0.1 + 0.2, "0.30000000000000004" },
		      { 395.326419246, "395.326419246" },
		      { 9007199254740993.0, "9007199254740992.0" },
		      { -2.5e-7, "-2.5e-07" } };

	for (size_t i = 0; i < XP_LEN(cases); i++) {
		struct xp_text out = { 0 };
		struct xp_json json = { .out = &out };

		xp_json_f64(&json, cases[i].value);
		expect(&out, cases[i].text);
	}
}

/* jansson holds 63 bits; a syscall argument of -1 is 2^64-1. */
static void large_integers_survive_reading(void **state)
{
	static const char text[] = "{\"a\":18446744073709551615,\"b\":[9223372036854775808,9223372036854775807],"
				   "\"c\":\"18446744073709551615\",\"d\":\"x\\\"9223372036854775808\"}";
	char why[100];
	uint64_t value;
	json_t *doc = xp_json_parse(text, strlen(text), why, sizeof(why));

	assert_non_null(doc);
	assert_true(xp_json_get_u64(json_object_get(doc, "a"), &value) && value == UINT64_MAX);
	assert_true(xp_json_get_u64(json_array_get(json_object_get(doc, "b"), 0), &value) && value == (uint64_t)1 << 63);
	assert_true(xp_json_get_u64(json_array_get(json_object_get(doc, "b"), 1), &value) && value == INT64_MAX);
	assert_false(xp_json_get_u64(json_object_get(doc, "c"), &value));
	assert_true(xp_json_is_text(json_object_get(doc, "c")));
	struct xp_text out = { 0 };
	struct xp_json json = { .out = &out };
	xp_json_value(&json, doc);
	expect(&out, text);
	json_decref(doc);
}

static void bad_documents_are_refused(void **state)
{
	static const char *const bad[] = { "",
					   "{",
					   "{\"a\":1,\"a\":2}",
					   "[1] 2",
					   "\"\xff\"",
					   "18446744073709551616",
					   "nan",
					   "\"\xef\xbf\xbf\"",
					   "\"\\uffff\"",
					   "\"\\ufFfF9\"",
					   "{\"a\":01}" };
	char why[200];

	for (size_t i = 0; i < XP_LEN(bad); i++)
		assert_null(xp_json_parse(bad[i], strlen(bad[i]), why, sizeof(why)));
}

static void pretty_and_compact_say_the_same(void **state)
{
	struct xp_text out = { 0 };
	struct xp_json json = { .out = &out, .pretty = true };

	xp_json_begin(&json, '{');
	xp_json_key(&json, "a");
	xp_json_begin(&json, '[');
	xp_json_end(&json, ']');
	xp_json_key(&json, "b");
	xp_json_bool(&json, true);
	xp_json_end(&json, '}');
	expect(&out, "{\n  \"a\": [],\n  \"b\": true\n}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_are_escaped_and_repaired), cmocka_unit_test(numbers_read_back_exactly),
		cmocka_unit_test(large_integers_survive_reading),   cmocka_unit_test(bad_documents_are_refused),
		cmocka_unit_test(pretty_and_compact_say_the_same),  cmocka_unit_test(numbers_are_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
