/* SPDX-License-Identifier: Apache-2.0 */
/* Field tables to Markdown. In: a record. Out: one section. No state. */
#include "base/field.h"

#include <string.h>

static const char *const kind_texts[XP_KIND_COUNT] = {
	[XP_KIND_BOOL] = "bool",
	[XP_KIND_U8] = "u8",
	[XP_KIND_U16] = "u16",
	[XP_KIND_U32] = "u32",
	[XP_KIND_U64] = "u64",
	[XP_KIND_I32] = "i32",
	[XP_KIND_I64] = "i64",
	[XP_KIND_F64] = "f64",
	[XP_KIND_OPT_BOOL] = "bool",
	[XP_KIND_OPT_U32] = "u32",
	[XP_KIND_OPT_U64] = "u64",
	[XP_KIND_OPT_I64] = "i64",
	[XP_KIND_OPT_F64] = "f64",
	[XP_KIND_STR] = "str",
	[XP_KIND_ENUM] = "enum",
	[XP_KIND_CONST] = "constant",
	[XP_KIND_TRUE] = "true",
	[XP_KIND_FALSE] = "false",
	[XP_KIND_OBJ] = "object",
	[XP_KIND_PTR] = "object",
	[XP_KIND_LIST] = "array of",
	[XP_KIND_PTRS] = "array of",
	[XP_KIND_STRS] = "[str]",
	[XP_KIND_U64S] = "[u64]",
	[XP_KIND_U32S] = "[u32]",
	[XP_KIND_COUNTS] = "{name: u64}",
	[XP_KIND_TEXTS] = "{name: str}",
	[XP_KIND_HISTOGRAM] = "[[bucket, n]]",
	[XP_KIND_INTERVAL] = "[f64, f64]",
	[XP_KIND_JSON] = "open",
	[XP_KIND_VARIANT] = "one of",
};

static void type_cell(struct xp_text *out, const struct xp_field *field)
{
	if (field->kind == XP_KIND_CONST) {
		xp_text_fmt(out, "`\"%s\"`", field->constant);
		return;
	}
	if (field->kind == XP_KIND_ENUM) {
		for (size_t i = 0; i < field->n_names; i++)
			if (field->names[i])
				xp_text_fmt(out, "%s`%s`", i ? " " : "", field->names[i]);
		return;
	}
	if (field->kind == XP_KIND_OBJ || field->kind == XP_KIND_PTR) {
		xp_text_str(out, field->sub->name);
		return;
	}
	xp_text_str(out, kind_texts[field->kind]);
	if (field->sub)
		xp_text_fmt(out, " %s", field->sub->name);
	for (size_t i = 0; i < field->n_variants; i++)
		xp_text_fmt(out, " %s", field->variants[i]->name);
}

static const char *null_cell(const struct xp_field *field)
{
	bool nullable = (field->kind >= XP_KIND_OPT_BOOL && field->kind <= XP_KIND_OPT_F64) || field->kind == XP_KIND_INTERVAL ||
			(field->flags & (XP_NULLABLE | XP_NULL_WHEN_EMPTY));

	if (field->flags & XP_OPTIONAL)
		return nullable ? "may be null or missing" : "may be missing";
	return nullable ? "may be null" : "-";
}

static void one(struct xp_text *out, const struct xp_record *record)
{
	xp_text_fmt(out, "### %s\n\n%s\n\n| Field | Type | Null | Meaning |\n|---|---|---|---|\n", record->name, record->doc);
	for (size_t i = 0; i < record->n_fields; i++) {
		const struct xp_field *field = &record->fields[i];

		xp_text_fmt(out, "| `%s` | ", field->name);
		type_cell(out, field);
		xp_text_fmt(out, " | %s | %s |\n", null_cell(field), field->doc);
	}
	xp_text_str(out, "\n");
}

void xp_record_doc(struct xp_text *out, const struct xp_record *record)
{
	one(out, record);
}
