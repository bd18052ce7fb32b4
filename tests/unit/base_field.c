/* SPDX-License-Identifier: Apache-2.0 */
/* One table writes, reads, describes and documents a record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/field.h"

struct inner {
	uint32_t n;
	const char *word;
};

struct outer {
	const char *name;
	struct xp_opt_u64 bound;
	int color;
	double share;
	struct inner one;
	const struct inner *many;
	size_t n_many;
	const char *const *words;
	size_t n_words;
	const struct xp_named_text *labels;
	size_t n_labels;
	json_t *open;
	struct xp_opt_bool extra;
};

static const char *const colors[] = { "red", "green" };

static const struct xp_field inner_fields[] = {
	XP_FIELD(inner, n, U32, "a number"),
	XP_FIELD(inner, word, STR, "a word", .flags = XP_NULLABLE),
};
static const struct xp_record inner_record = XP_RECORD("Inner", inner, inner_fields, "inner", .closed = true);

static const struct xp_field outer_fields[] = {
	XP_FIELD_CONST("schema_version", "2.0", "version"),
	XP_FIELD(outer, name, STR, "a name", .flags = XP_NULLABLE),
	XP_FIELD(outer, bound, OPT_U64, "a bound"),
	XP_FIELD_ENUM(outer, color, colors, "a color"),
	XP_FIELD(outer, share, F64, "a share", .flags = XP_NULLABLE),
	XP_FIELD_OBJ(outer, one, &inner_record, "one"),
	XP_FIELD_LIST(outer, many, &inner_record, "many"),
	XP_FIELD_STRS(outer, words, "words"),
	XP_FIELD_TEXTS(outer, labels, "labels"),
	XP_FIELD(outer, open, JSON, "open", .flags = XP_OPEN_OBJECT),
	XP_FIELD(outer, extra, OPT_BOOL, "extra", .flags = XP_OPTIONAL),
};
static const struct xp_record outer_record = XP_RECORD("Outer", outer, outer_fields, "outer", .closed = true);

static const char whole[] =
	"{\"schema_version\":\"2.0\",\"name\":null,\"bound\":18446744073709551615,\"color\":\"green\",\"share\":null,"
	"\"one\":{\"n\":7,\"word\":null},\"many\":[{\"n\":1,\"word\":\"x\"},{\"n\":2,\"word\":null}],\"words\":[\"p\",\"q\"],"
	"\"labels\":{\"z\":\"1\",\"a\":\"\"},"
	"\"open\":{\"k\":[1]},\"extra\":true}";

static int read_text(struct xp_arena *arena, const char *text, struct outer *ret, struct xp_err *err)
{
	char why[100];
	json_t *doc = xp_json_parse(text, strlen(text), why, sizeof(why));

	assert_non_null(doc);
	int rc = xp_record_read(&outer_record, doc, arena, XP_E_TRACE_EXPORT_FAILED, ret, err);
	json_decref(doc);
	return rc;
}

static void what_is_written_reads_back(void **state)
{
	struct xp_arena *arena = xp_arena_new();
	struct xp_text out = { 0 };
	struct xp_json json = { .out = &out };
	struct xp_err err = { 0 };
	struct outer value;

	assert_int_equal(read_text(arena, whole, &value, &err), 0);
	xp_record_write(&json, &outer_record, &value, false);
	assert_string_equal(out.data, whole);
	xp_text_done(&out);
	xp_arena_free(arena);
}

static void sparse_leaves_out_nulls_and_constants(void **state)
{
	struct outer value = { .color = 0, .share = __builtin_nan(""), .one = { 3, NULL } };
	struct xp_text out = { 0 };
	struct xp_json json = { .out = &out };

	xp_record_write(&json, &outer_record, &value, true);
	assert_string_equal(out.data, "{\"color\":\"red\",\"one\":{\"n\":3},\"many\":[],\"words\":[],\"labels\":{}}");
	xp_text_done(&out);
}

/* Each document breaks one rule; the message names the member. */
static void wrong_documents_name_the_member(void **state)
{
	static const struct {
		const char *from, *to, *member;
	} cases[] = {
		{ "\"n\":7", "\"n\":4294967296", "one.n" },
		{ "\"n\":7", "\"n\":-1", "one.n" },
		{ "\"z\":\"1\"", "\"z\":1", "labels.z" },
		{ "{\"z\":\"1\",\"a\":\"\"}", "[]", "labels" },
		{ "\"n\":7", "\"n\":7.5", "one.n" },
		{ "\"n\":7,", "", "one.n" },
		{ "\"n\":7", "\"n\":7,\"m\":1", "one.m" },
		{ "\"n\":2", "\"n\":null", "many[1].n" },
		{ "\"green\"", "\"blue\"", "color" },
		{ "\"2.0\"", "\"3.0\"", "schema_version" },
		{ "[\"p\"", "[5", "words[0]" },
		{ "{\"k\":[1]}", "[]", "open" },
		{ "\"extra\":true", "\"extra\":1", "extra" },
		{ "\"name\":null,", "", "name" },
	};

	for (size_t i = 0; i < XP_LEN(cases); i++) {
		struct xp_arena *arena = xp_arena_new();
		struct xp_err err = { 0 };
		struct outer value;
		char text[1024];
		const char *at = strstr(whole, cases[i].from);

		assert_non_null(at);
		snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - whole), whole, cases[i].to, at + strlen(cases[i].from));
		assert_int_equal(read_text(arena, text, &value, &err), -XP_E_TRACE_EXPORT_FAILED);
		assert_string_equal(err.object, cases[i].member);
		xp_err_done(&err);
		xp_arena_free(arena);
	}
}

static void schema_requires_what_is_not_optional(void **state)
{
	struct xp_text out = { 0 };
	struct xp_json json = { .out = &out };
	char why[100];

	xp_record_schema(&json, &outer_record);
	json_t *schema = xp_json_parse(out.data, out.len, why, sizeof(why));
	assert_non_null(schema);
	assert_int_equal(json_array_size(json_object_get(schema, "required")), XP_LEN(outer_fields) - 1);
	assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
	assert_non_null(json_object_get(json_object_get(schema, "$defs"), "Inner"));
	json_decref(schema);
	xp_text_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_reads_back),
		cmocka_unit_test(sparse_leaves_out_nulls_and_constants),
		cmocka_unit_test(wrong_documents_name_the_member),
		cmocka_unit_test(schema_requires_what_is_not_optional),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
