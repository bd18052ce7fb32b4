/* SPDX-License-Identifier: Apache-2.0 */
/* Field tables to JSON Schema (draft 2020-12) and to Markdown. In: records. Out: text. No state. */
#include "base/field.h"

#include <string.h>

enum { MAX_RECORDS = 96 };

/* Every record that is reachable from the root, each once, in order of discovery. */
struct record_set {
	const struct xp_record *at[MAX_RECORDS];
	size_t n;
};

static void collect(struct record_set *set, const struct xp_record *record)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->at[i] == record)
			return;
	if (set->n == MAX_RECORDS)
		return;
	set->at[set->n++] = record;
	for (size_t i = 0; i < record->n_fields; i++) {
		const struct xp_field *field = &record->fields[i];

		if (field->sub)
			collect(set, field->sub);
		for (size_t v = 0; v < field->n_variants; v++)
			collect(set, field->variants[v]);
	}
}

static void pair(struct xp_json *json, const char *key, const char *text)
{
	xp_json_key(json, key);
	xp_json_str(json, text);
}

static void reference(struct xp_json *json, const struct xp_record *record)
{
	xp_auto_builder target = { 0 };

	xp_text_fmt(&target, "#/$defs/%s", record->name);
	pair(json, "$ref", target.data);
}

static uint64_t largest(const struct xp_field *field)
{
	if (field->max)
		return field->max;
	switch ((int)field->kind) {
	case XP_KIND_U8:
		return UINT8_MAX;
	case XP_KIND_U16:
		return UINT16_MAX;
	case XP_KIND_U32:
	case XP_KIND_OPT_U32:
	case XP_KIND_U32S:
		return UINT32_MAX;
	default:
		return UINT64_MAX;
	}
}

static void unsigned_schema(struct xp_json *json, uint64_t max)
{
	pair(json, "type", "integer");
	xp_json_key(json, "minimum");
	xp_json_u64(json, 0);
	xp_json_key(json, "maximum");
	xp_json_u64(json, max);
}

static void array_of(struct xp_json *json, const struct xp_field *field)
{
	pair(json, "type", "array");
	xp_json_key(json, "items");
	xp_json_begin(json, '{');
	if (field->sub)
		reference(json, field->sub);
	else if (field->kind == XP_KIND_STRS)
		pair(json, "type", "string");
	else if (field->kind == XP_KIND_INTERVAL)
		pair(json, "type", "number");
	else if (field->kind == XP_KIND_HISTOGRAM)
		pair(json, "type", "array");
	else
		unsigned_schema(json, largest(field));
	xp_json_end(json, '}');
}

static void enum_schema(struct xp_json *json, const struct xp_field *field)
{
	xp_json_key(json, "enum");
	xp_json_begin(json, '[');
	for (size_t i = 0; i < field->n_names; i++)
		if (field->names[i])
			xp_json_str(json, field->names[i]);
	xp_json_end(json, ']');
}

static void variant_schema(struct xp_json *json, const struct xp_field *field)
{
	xp_json_key(json, "oneOf");
	xp_json_begin(json, '[');
	for (size_t i = 0; i < field->n_variants; i++) {
		xp_json_begin(json, '{');
		reference(json, field->variants[i]);
		xp_json_end(json, '}');
	}
	xp_json_end(json, ']');
}

/* An object with free names. */
static void map_schema(struct xp_json *json, const struct xp_field *field)
{
	pair(json, "type", "object");
	xp_json_key(json, "additionalProperties");
	xp_json_begin(json, '{');
	if (field->kind == XP_KIND_TEXTS)
		pair(json, "type", "string");
	else
		unsigned_schema(json, UINT64_MAX);
	xp_json_end(json, '}');
}

static const char *const simple_types[XP_KIND_COUNT] = {
	[XP_KIND_BOOL] = "boolean",    [XP_KIND_OPT_BOOL] = "boolean", [XP_KIND_I32] = "integer",    [XP_KIND_I64] = "integer",
	[XP_KIND_OPT_I64] = "integer", [XP_KIND_F64] = "number",       [XP_KIND_OPT_F64] = "number", [XP_KIND_STR] = "string",
};

/* The members of the schema object of a value that is not null. */
static void value_schema(struct xp_json *json, const struct xp_field *field)
{
	switch (field->kind) {
	case XP_KIND_TRUE:
	case XP_KIND_FALSE:
		xp_json_key(json, "const");
		xp_json_bool(json, field->kind == XP_KIND_TRUE);
		return;
	case XP_KIND_BOOL:
	case XP_KIND_OPT_BOOL:
	case XP_KIND_I32:
	case XP_KIND_I64:
	case XP_KIND_OPT_I64:
	case XP_KIND_F64:
	case XP_KIND_OPT_F64:
	case XP_KIND_STR:
		pair(json, "type", simple_types[field->kind]);
		return;
	case XP_KIND_CONST:
		pair(json, "const", field->constant);
		return;
	case XP_KIND_ENUM:
		enum_schema(json, field);
		return;
	case XP_KIND_OBJ:
	case XP_KIND_PTR:
		reference(json, field->sub);
		return;
	case XP_KIND_LIST:
	case XP_KIND_PTRS:
	case XP_KIND_STRS:
	case XP_KIND_U64S:
	case XP_KIND_U32S:
	case XP_KIND_HISTOGRAM:
	case XP_KIND_INTERVAL:
		array_of(json, field);
		return;
	case XP_KIND_COUNTS:
	case XP_KIND_TEXTS:
		map_schema(json, field);
		return;
	case XP_KIND_JSON:
		if (field->flags & (XP_OPEN_OBJECT | XP_OPEN_ARRAY))
			pair(json, "type", field->flags & XP_OPEN_ARRAY ? "array" : "object");
		return;
	case XP_KIND_VARIANT:
		variant_schema(json, field);
		return;
	case XP_KIND_U8:
	case XP_KIND_U16:
	case XP_KIND_U32:
	case XP_KIND_U64:
	case XP_KIND_OPT_U32:
	case XP_KIND_OPT_U64:
	case XP_KIND_COUNT:
		unsigned_schema(json, largest(field));
		return;
	}
}

static bool nullable(const struct xp_field *field)
{
	return (field->kind >= XP_KIND_OPT_BOOL && field->kind <= XP_KIND_OPT_F64) || field->kind == XP_KIND_INTERVAL ||
	       (field->flags & (XP_NULLABLE | XP_NULL_WHEN_EMPTY));
}

static void field_schema(struct xp_json *json, const struct xp_field *field)
{
	xp_json_begin(json, '{');
	pair(json, "description", field->doc);
	if (nullable(field)) {
		xp_json_key(json, "anyOf");
		xp_json_begin(json, '[');
		xp_json_begin(json, '{');
		value_schema(json, field);
		xp_json_end(json, '}');
		xp_json_begin(json, '{');
		pair(json, "type", "null");
		xp_json_end(json, '}');
		xp_json_end(json, ']');
	} else {
		value_schema(json, field);
	}
	xp_json_end(json, '}');
}

/* Records that appear sparsely somewhere may lack any member there, so only members that are never left out are required. */
static void object_schema(struct xp_json *json, const struct xp_record *record, bool sparse)
{
	pair(json, "type", "object");
	pair(json, "description", record->doc);
	xp_json_key(json, "properties");
	xp_json_begin(json, '{');
	for (size_t i = 0; i < record->n_fields; i++) {
		xp_json_key(json, record->fields[i].name);
		field_schema(json, &record->fields[i]);
	}
	xp_json_end(json, '}');
	xp_json_key(json, "required");
	xp_json_begin(json, '[');
	for (size_t i = 0; i < record->n_fields && !sparse; i++)
		if (!(record->fields[i].flags & XP_OPTIONAL))
			xp_json_str(json, record->fields[i].name);
	xp_json_end(json, ']');
	if (record->closed) {
		xp_json_key(json, "additionalProperties");
		xp_json_bool(json, false);
	}
}

/* True when some field reaches the record through XP_SPARSE. */
static void mark_sparse(const struct record_set *set, bool *ret_sparse)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t r = 0; r < set->n; r++) {
			for (size_t i = 0; i < set->at[r]->n_fields; i++) {
				const struct xp_field *field = &set->at[r]->fields[i];

				if (!field->sub || !(ret_sparse[r] || (field->flags & XP_SPARSE)))
					continue;
				for (size_t s = 0; s < set->n; s++) {
					if (set->at[s] == field->sub && !ret_sparse[s])
						changed = ret_sparse[s] = true;
				}
			}
		}
	}
}

void xp_record_schema(struct xp_json *json, const struct xp_record *record)
{
	struct record_set set = { 0 };
	bool sparse[MAX_RECORDS] = { false };

	collect(&set, record);
	mark_sparse(&set, sparse);
	xp_json_begin(json, '{');
	pair(json, "$schema", "https://json-schema.org/draft/2020-12/schema");
	pair(json, "title", record->name);
	object_schema(json, record, false);
	xp_json_key(json, "$defs");
	xp_json_begin(json, '{');
	for (size_t i = 1; i < set.n; i++) {
		xp_json_key(json, set.at[i]->name);
		xp_json_begin(json, '{');
		object_schema(json, set.at[i], sparse[i]);
		xp_json_end(json, '}');
	}
	xp_json_end(json, '}');
	xp_json_end(json, '}');
}
