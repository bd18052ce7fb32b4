/* SPDX-License-Identifier: Apache-2.0 */
/* Field tables to JSON. In: a record's table and value. Out: JSON text. No state. */
#include "base/field.h"

#include <math.h>
#include <string.h>

static const void *at(const void *value, size_t offset)
{
	return (const char *)value + offset;
}

static size_t count_of(const struct xp_field *field, const void *value)
{
	size_t n;

	memcpy(&n, at(value, field->count_offset), sizeof(n));
	return n;
}

static const void *pointer_at(const struct xp_field *field, const void *value)
{
	const void *pointer;

	memcpy(&pointer, at(value, field->offset), sizeof(pointer));
	return pointer;
}

static int enum_at(const struct xp_field *field, const void *value)
{
	int index;

	memcpy(&index, at(value, field->offset), sizeof(index));
	return index;
}

static bool is_null(const struct xp_field *field, const void *value)
{
	switch (field->kind) {
	case XP_KIND_OPT_BOOL:
		return !((const struct xp_opt_bool *)at(value, field->offset))->set;
	case XP_KIND_OPT_U32:
		return !((const struct xp_opt_u32 *)at(value, field->offset))->set;
	case XP_KIND_OPT_U64:
		return !((const struct xp_opt_u64 *)at(value, field->offset))->set;
	case XP_KIND_OPT_I64:
		return !((const struct xp_opt_i64 *)at(value, field->offset))->set;
	case XP_KIND_OPT_F64:
		return !((const struct xp_opt_f64 *)at(value, field->offset))->set;
	case XP_KIND_INTERVAL:
		return !((const struct xp_interval *)at(value, field->offset))->set;
	case XP_KIND_F64:
		return !isfinite(*(const double *)at(value, field->offset));
	case XP_KIND_ENUM:
		return enum_at(field, value) < 0;
	case XP_KIND_STR:
	case XP_KIND_PTR:
	case XP_KIND_VARIANT:
		return !pointer_at(field, value);
	case XP_KIND_JSON:
		return !pointer_at(field, value) && !(field->flags & (XP_OPEN_OBJECT | XP_OPEN_ARRAY));
	case XP_KIND_LIST:
	case XP_KIND_PTRS:
	case XP_KIND_STRS:
	case XP_KIND_U64S:
	case XP_KIND_U32S:
		return (field->flags & XP_NULL_WHEN_EMPTY) && !pointer_at(field, value);
	case XP_KIND_BOOL:
	case XP_KIND_U8:
	case XP_KIND_U16:
	case XP_KIND_U32:
	case XP_KIND_U64:
	case XP_KIND_I32:
	case XP_KIND_I64:
	case XP_KIND_CONST:
	case XP_KIND_TRUE:
	case XP_KIND_FALSE:
	case XP_KIND_OBJ:
	case XP_KIND_COUNTS:
	case XP_KIND_TEXTS:
	case XP_KIND_HISTOGRAM:
	case XP_KIND_COUNT:
		return false;
	}
	return false;
}

static void write_list(struct xp_json *json, const struct xp_field *field, const void *value, bool sparse)
{
	const char *items = pointer_at(field, value);
	size_t n = items ? count_of(field, value) : 0;

	xp_json_begin(json, '[');
	for (size_t i = 0; i < n; i++) {
		if (field->kind == XP_KIND_LIST)
			xp_record_write(json, field->sub, items + i * field->sub->size, sparse);
		else if (field->kind == XP_KIND_PTRS)
			xp_record_write(json, field->sub, ((const void *const *)(const void *)items)[i], sparse);
		else if (field->kind == XP_KIND_STRS)
			xp_json_str(json, ((const char *const *)(const void *)items)[i]);
		else if (field->kind == XP_KIND_U64S)
			xp_json_u64(json, ((const uint64_t *)(const void *)items)[i]);
		else
			xp_json_u64(json, ((const uint32_t *)(const void *)items)[i]);
	}
	xp_json_end(json, ']');
}

static void write_counts(struct xp_json *json, const struct xp_field *field, const void *value)
{
	const struct xp_count *counts = pointer_at(field, value);
	size_t n = counts ? count_of(field, value) : 0;

	xp_json_begin(json, '{');
	for (size_t i = 0; i < n; i++) {
		xp_json_key(json, counts[i].name);
		xp_json_u64(json, counts[i].n);
	}
	xp_json_end(json, '}');
}

static void write_texts(struct xp_json *json, const struct xp_field *field, const void *value)
{
	const struct xp_named_text *texts = pointer_at(field, value);
	size_t n = texts ? count_of(field, value) : 0;

	xp_json_begin(json, '{');
	for (size_t i = 0; i < n; i++) {
		xp_json_key(json, texts[i].name);
		xp_json_str(json, texts[i].text);
	}
	xp_json_end(json, '}');
}

static void write_histogram(struct xp_json *json, const struct xp_histogram *histogram)
{
	bool pretty = json->pretty;

	xp_json_begin(json, '[');
	for (unsigned i = 0; i < XP_LEN(histogram->bucket); i++) {
		if (!histogram->bucket[i])
			continue;
		xp_json_begin(json, '[');
		json->pretty = false;
		xp_json_u64(json, i);
		xp_json_u64(json, histogram->bucket[i]);
		xp_json_end(json, ']');
		json->pretty = pretty;
	}
	xp_json_end(json, ']');
}

static void write_interval(struct xp_json *json, const struct xp_interval *interval)
{
	xp_json_begin(json, '[');
	xp_json_f64(json, interval->low);
	xp_json_f64(json, interval->high);
	xp_json_end(json, ']');
}

static void write_open(struct xp_json *json, const struct xp_field *field, const json_t *open)
{
	if (open) {
		xp_json_value(json, open);
		return;
	}
	xp_json_begin(json, field->flags & XP_OPEN_ARRAY ? '[' : '{');
	xp_json_end(json, field->flags & XP_OPEN_ARRAY ? ']' : '}');
}

static void write_plain(struct xp_json *json, const struct xp_field *field, const void *member)
{
	switch ((int)field->kind) {
	case XP_KIND_BOOL:
		xp_json_bool(json, *(const bool *)member);
		break;
	case XP_KIND_U8:
		xp_json_u64(json, *(const uint8_t *)member);
		break;
	case XP_KIND_U16:
		xp_json_u64(json, *(const uint16_t *)member);
		break;
	case XP_KIND_U32:
		xp_json_u64(json, *(const uint32_t *)member);
		break;
	case XP_KIND_U64:
		xp_json_u64(json, *(const uint64_t *)member);
		break;
	case XP_KIND_I32:
		xp_json_i64(json, *(const int32_t *)member);
		break;
	case XP_KIND_I64:
		xp_json_i64(json, *(const int64_t *)member);
		break;
	case XP_KIND_F64:
		xp_json_f64(json, *(const double *)member);
		break;
	case XP_KIND_OPT_BOOL:
		xp_json_bool(json, ((const struct xp_opt_bool *)member)->v);
		break;
	case XP_KIND_OPT_U32:
		xp_json_u64(json, ((const struct xp_opt_u32 *)member)->v);
		break;
	case XP_KIND_OPT_U64:
		xp_json_u64(json, ((const struct xp_opt_u64 *)member)->v);
		break;
	case XP_KIND_OPT_I64:
		xp_json_i64(json, ((const struct xp_opt_i64 *)member)->v);
		break;
	case XP_KIND_OPT_F64:
		xp_json_f64(json, ((const struct xp_opt_f64 *)member)->v);
		break;
	case XP_KIND_CONST:
		xp_json_str(json, field->constant);
		break;
	case XP_KIND_TRUE:
		xp_json_bool(json, true);
		break;
	case XP_KIND_FALSE:
		xp_json_bool(json, false);
		break;
	default:
		xp_json_null(json);
	}
}

static void write_member(struct xp_json *json, const struct xp_field *field, const void *value, bool sparse)
{
	const void *member = at(value, field->offset);

	sparse = sparse || (field->flags & XP_SPARSE);
	switch ((int)field->kind) {
	case XP_KIND_STR:
		xp_json_str(json, pointer_at(field, value));
		break;
	case XP_KIND_ENUM:
		xp_json_str(json, field->names[enum_at(field, value)]);
		break;
	case XP_KIND_OBJ:
		xp_record_write(json, field->sub, member, sparse);
		break;
	case XP_KIND_PTR:
		xp_record_write(json, field->sub, pointer_at(field, value), sparse);
		break;
	case XP_KIND_VARIANT:
		xp_record_write(json, field->variants[*(const int *)pointer_at(field, value)], pointer_at(field, value), sparse);
		break;
	case XP_KIND_LIST:
	case XP_KIND_PTRS:
	case XP_KIND_STRS:
	case XP_KIND_U64S:
	case XP_KIND_U32S:
		write_list(json, field, value, sparse);
		break;
	case XP_KIND_COUNTS:
		write_counts(json, field, value);
		break;
	case XP_KIND_TEXTS:
		write_texts(json, field, value);
		break;
	case XP_KIND_HISTOGRAM:
		write_histogram(json, member);
		break;
	case XP_KIND_INTERVAL:
		write_interval(json, member);
		break;
	case XP_KIND_JSON:
		write_open(json, field, pointer_at(field, value));
		break;
	default:
		write_plain(json, field, member);
	}
}

/* True for members that a sparse record leaves out although they are not null. */
static bool is_left_out(const struct xp_field *field, const void *value)
{
	if (field->kind == XP_KIND_JSON && (field->flags & XP_OPEN_OBJECT))
		return json_object_size(pointer_at(field, value)) == 0;
	/* Elements there are, but told elsewhere: an empty list would say that there are none. */
	if (field->kind == XP_KIND_LIST && pointer_at(field, value))
		return count_of(field, value) == 0;
	return field->kind == XP_KIND_CONST;
}

void xp_record_write(struct xp_json *json, const struct xp_record *record, const void *value, bool sparse)
{
	xp_json_begin(json, '{');
	for (size_t i = 0; i < record->n_fields; i++) {
		const struct xp_field *field = &record->fields[i];
		bool null = is_null(field, value);

		if (null && (sparse || (field->flags & XP_OPTIONAL)))
			continue;
		if (sparse && is_left_out(field, value))
			continue;
		xp_json_key(json, field->name);
		if (null)
			xp_json_null(json);
		else
			write_member(json, field, value, sparse);
	}
	xp_json_end(json, '}');
}
