/* SPDX-License-Identifier: Apache-2.0 */
/* JSON to field tables, strictly. In: a parsed document and a record's table. Out: the record's struct, text in an arena. No state. */
#include "base/field.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { MAX_DEPTH = 32 };

struct reader {
	struct xp_arena *arena;
	enum xp_err_code code;
	struct xp_err *reterr;
	/* The member that is being read, for messages: put into words only when one is due. */
	struct step {
		const char *name; /* NULL: element `index` of a list */
		size_t index;
	} path[MAX_DEPTH];
	size_t depth;
};

static int read_record(struct reader *in, const struct xp_record *record, const json_t *object, void *ret_value);

static void enter(struct reader *in, const char *name, size_t index)
{
	assert(in->depth < MAX_DEPTH); /* tables nest far less deeply */
	in->path[in->depth++] = (struct step){ name, index };
}

static void leave(struct reader *in)
{
	in->depth--;
}

static int wrong(struct reader *in, const char *what)
{
	xp_auto_builder path = { .limit = 255 };

	for (size_t i = 0; i < in->depth; i++) {
		if (in->path[i].name)
			xp_text_fmt(&path, "%s%.100s", i ? "." : "", in->path[i].name);
		else
			xp_text_fmt(&path, "[%zu]", in->path[i].index);
	}
	int rc = xp_fail(in->reterr, in->code, "member %s %s", path.len ? path.data : "(document)", what);
	xp_err_object(in->reterr, "%s", path.len ? path.data : "");
	return rc;
}

static void store(void *value, size_t offset, const void *from, size_t size)
{
	memcpy((char *)value + offset, from, size);
}

static void set_null(const struct xp_field *field, void *value)
{
	if (field->kind == XP_KIND_ENUM)
		store(value, field->offset, &(int){ -1 }, sizeof(int));
	else if (field->kind == XP_KIND_F64)
		store(value, field->offset, &(double){ NAN }, sizeof(double));
}

static bool may_be_null(const struct xp_field *field)
{
	bool optional_kind = field->kind >= XP_KIND_OPT_BOOL && field->kind <= XP_KIND_OPT_F64;

	return optional_kind || (field->flags & (XP_NULLABLE | XP_OPTIONAL));
}

static int read_unsigned(struct reader *in, const struct xp_field *field, const json_t *member, uint64_t limit, uint64_t *ret_number)
{
	if (!xp_json_get_u64(member, ret_number))
		return wrong(in, "is not an unsigned integer");
	if (*ret_number > limit || (field->max && *ret_number > field->max))
		return wrong(in, "is out of range");
	return 0;
}

static int read_number(struct reader *in, const struct xp_field *field, const json_t *member, void *value)
{
	uint64_t number = 0;
	int rc = 0;

	switch ((int)field->kind) {
	case XP_KIND_U8:
		rc = read_unsigned(in, field, member, UINT8_MAX, &number);
		store(value, field->offset, &(uint8_t){ (uint8_t)number }, 1);
		return rc;
	case XP_KIND_U16:
		rc = read_unsigned(in, field, member, UINT16_MAX, &number);
		store(value, field->offset, &(uint16_t){ (uint16_t)number }, 2);
		return rc;
	case XP_KIND_U32:
		rc = read_unsigned(in, field, member, UINT32_MAX, &number);
		store(value, field->offset, &(uint32_t){ (uint32_t)number }, 4);
		return rc;
	case XP_KIND_U64:
		rc = read_unsigned(in, field, member, UINT64_MAX, &number);
		store(value, field->offset, &number, 8);
		return rc;
	case XP_KIND_OPT_U32:
		rc = read_unsigned(in, field, member, UINT32_MAX, &number);
		store(value, field->offset, &(struct xp_opt_u32)XP_SOME((uint32_t)number), sizeof(struct xp_opt_u32));
		return rc;
	case XP_KIND_OPT_U64:
		rc = read_unsigned(in, field, member, UINT64_MAX, &number);
		store(value, field->offset, &(struct xp_opt_u64)XP_SOME(number), sizeof(struct xp_opt_u64));
		return rc;
	default:
		return wrong(in, "has a kind that is never read");
	}
}

static int read_signed_or_real(struct reader *in, const struct xp_field *field, const json_t *member, void *value)
{
	bool real = field->kind == XP_KIND_F64 || field->kind == XP_KIND_OPT_F64;

	if (real ? !json_is_number(member) : !json_is_integer(member))
		return wrong(in, real ? "is not a number" : "is not an integer");
	if (field->kind == XP_KIND_F64)
		store(value, field->offset, &(double){ json_number_value(member) }, sizeof(double));
	else if (field->kind == XP_KIND_OPT_F64)
		store(value, field->offset, &(struct xp_opt_f64)XP_SOME(json_number_value(member)), sizeof(struct xp_opt_f64));
	else if (field->kind == XP_KIND_OPT_I64)
		store(value, field->offset, &(struct xp_opt_i64)XP_SOME(json_integer_value(member)), sizeof(struct xp_opt_i64));
	else if (field->kind == XP_KIND_I64)
		store(value, field->offset, &(int64_t){ json_integer_value(member) }, sizeof(int64_t));
	else if (json_integer_value(member) < INT32_MIN || json_integer_value(member) > INT32_MAX)
		return wrong(in, "is out of range");
	else
		store(value, field->offset, &(int32_t){ (int32_t)json_integer_value(member) }, sizeof(int32_t));
	return 0;
}

static int read_text(struct reader *in, const struct xp_field *field, const json_t *member, void *value)
{
	if (!json_is_string(member) || !xp_json_is_text(member))
		return wrong(in, "is not a string");
	const char *text = json_string_value(member);
	if (strlen(text) != json_string_length(member))
		return wrong(in, "contains a NUL byte");
	if (field->kind == XP_KIND_CONST)
		return strcmp(text, field->constant) ? wrong(in, "has another value than this version reads") : 0;
	if (field->kind == XP_KIND_STR) {
		store(value, field->offset, &(char *){ xp_arena_str(in->arena, text) }, sizeof(char *));
		return 0;
	}
	for (size_t i = 0; i < field->n_names; i++) {
		if (field->names[i] && !strcmp(field->names[i], text)) {
			store(value, field->offset, &(int){ (int)i }, sizeof(int));
			return 0;
		}
	}
	return wrong(in, "is not one of the allowed values");
}

static int read_bool(struct reader *in, const struct xp_field *field, const json_t *member, void *value)
{
	if (!json_is_boolean(member))
		return wrong(in, "is not true or false");
	bool on = json_is_true(member);
	if ((field->kind == XP_KIND_TRUE && !on) || (field->kind == XP_KIND_FALSE && on))
		return wrong(in, "has another value than this record allows");
	if (field->kind == XP_KIND_BOOL)
		store(value, field->offset, &on, sizeof(on));
	else if (field->kind == XP_KIND_OPT_BOOL)
		store(value, field->offset, &(struct xp_opt_bool)XP_SOME(on), sizeof(struct xp_opt_bool));
	return 0;
}

/* Size of one element in memory; PTRS hold pointers to separately allocated structs. */
static size_t element_size(const struct xp_field *field)
{
	if (field->kind == XP_KIND_LIST)
		return field->sub->size;
	return field->kind == XP_KIND_U32S ? sizeof(uint32_t) : sizeof(uint64_t);
}

static int read_element(struct reader *in, const struct xp_field *field, const json_t *item, void *slot)
{
	uint64_t number;

	if (field->kind == XP_KIND_LIST)
		return read_record(in, field->sub, item, slot);
	if (field->kind == XP_KIND_PTRS) {
		void *object = xp_arena_zalloc(in->arena, field->sub->size);

		memcpy(slot, &object, sizeof(object));
		return read_record(in, field->sub, item, object);
	}
	if (field->kind == XP_KIND_STRS) {
		if (!json_is_string(item) || !xp_json_is_text(item))
			return wrong(in, "is not a string");
		char *text = xp_arena_str(in->arena, json_string_value(item));
		memcpy(slot, &text, sizeof(text));
		return 0;
	}
	if (!xp_json_get_u64(item, &number) || (field->kind == XP_KIND_U32S && number > UINT32_MAX))
		return wrong(in, "is not an unsigned integer in range");
	if (field->kind == XP_KIND_U32S)
		memcpy(slot, &(uint32_t){ (uint32_t)number }, sizeof(uint32_t));
	else
		memcpy(slot, &number, sizeof(number));
	return 0;
}

static int read_list(struct reader *in, const struct xp_field *field, const json_t *member, void *value)
{
	size_t n = json_array_size(member), size = element_size(field);

	if (!json_is_array(member))
		return wrong(in, "is not an array");
	char *items = xp_arena_zalloc(in->arena, n * size);
	for (size_t i = 0; i < n; i++) {
		enter(in, NULL, i);
		int rc = read_element(in, field, json_array_get(member, i), items + i * size);
		if (rc)
			return rc;
		leave(in);
	}
	store(value, field->offset, &items, sizeof(items));
	store(value, field->count_offset, &n, sizeof(n));
	return 0;
}

static int read_texts(struct reader *in, const struct xp_field *field, const json_t *member, void *value)
{
	size_t n = 0;
	const char *key;
	json_t *text;

	if (!json_is_object(member))
		return wrong(in, "is not an object");
	struct xp_named_text *texts = xp_arena_array(in->arena, struct xp_named_text, json_object_size(member));
	json_object_foreach((json_t *)member, key, text)
	{
		enter(in, key, 0);
		if (!xp_json_is_text(text))
			return wrong(in, "is not a string");
		if (strlen(json_string_value(text)) != json_string_length(text))
			return wrong(in, "contains a NUL byte");
		texts[n++] = (struct xp_named_text){ xp_arena_str(in->arena, key), xp_arena_str(in->arena, json_string_value(text)) };
		leave(in);
	}
	store(value, field->offset, &texts, sizeof(texts));
	store(value, field->count_offset, &n, sizeof(n));
	return 0;
}

static int read_open(struct reader *in, const struct xp_field *field, const json_t *member, void *value)
{
	if ((field->flags & XP_OPEN_OBJECT) && !json_is_object(member))
		return wrong(in, "is not an object");
	if ((field->flags & XP_OPEN_ARRAY) && !json_is_array(member))
		return wrong(in, "is not an array");
	json_t *kept = json_incref((json_t *)member);
	xp_arena_defer(in->arena, (void (*)(void *))json_decref, kept);
	store(value, field->offset, &kept, sizeof(kept));
	return 0;
}

static int read_pointer(struct reader *in, const struct xp_field *field, const json_t *member, void *value)
{
	void *object = xp_arena_zalloc(in->arena, field->sub->size);

	store(value, field->offset, &object, sizeof(object));
	return read_record(in, field->sub, member, object);
}

static int read_member(struct reader *in, const struct xp_field *field, const json_t *member, void *value)
{
	switch ((int)field->kind) {
	case XP_KIND_BOOL:
	case XP_KIND_OPT_BOOL:
	case XP_KIND_TRUE:
	case XP_KIND_FALSE:
		return read_bool(in, field, member, value);
	case XP_KIND_I32:
	case XP_KIND_I64:
	case XP_KIND_F64:
	case XP_KIND_OPT_I64:
	case XP_KIND_OPT_F64:
		return read_signed_or_real(in, field, member, value);
	case XP_KIND_STR:
	case XP_KIND_ENUM:
	case XP_KIND_CONST:
		return read_text(in, field, member, value);
	case XP_KIND_OBJ:
		return read_record(in, field->sub, member, (char *)value + field->offset);
	case XP_KIND_PTR:
		return read_pointer(in, field, member, value);
	case XP_KIND_LIST:
	case XP_KIND_PTRS:
	case XP_KIND_STRS:
	case XP_KIND_U64S:
	case XP_KIND_U32S:
		return read_list(in, field, member, value);
	case XP_KIND_TEXTS:
		return read_texts(in, field, member, value);
	case XP_KIND_JSON:
		return read_open(in, field, member, value);
	default:
		return read_number(in, field, member, value);
	}
}

static bool knows(const struct xp_record *record, const char *key)
{
	for (size_t i = 0; i < record->n_fields; i++)
		if (!strcmp(record->fields[i].name, key))
			return true;
	return false;
}

static int read_fields(struct reader *in, const struct xp_record *record, const json_t *object, void *value)
{
	for (size_t i = 0; i < record->n_fields; i++) {
		const struct xp_field *field = &record->fields[i];
		const json_t *member = json_object_get(object, field->name);
		int rc = 0;

		enter(in, field->name, 0);
		if (!member && !(field->flags & XP_OPTIONAL))
			return wrong(in, "is missing");
		if (!member || (json_is_null(member) && may_be_null(field)))
			set_null(field, value);
		else
			rc = read_member(in, field, member, value);
		if (rc)
			return rc;
		leave(in);
	}
	return 0;
}

static int read_record(struct reader *in, const struct xp_record *record, const json_t *object, void *ret_value)
{
	const char *key;
	json_t *member;

	if (!json_is_object(object))
		return wrong(in, "is not an object");
	memset(ret_value, 0, record->size);
	if (record->closed) {
		json_object_foreach((json_t *)object, key, member)
		{
			if (knows(record, key))
				continue;
			enter(in, key, 0);
			return wrong(in, "is unknown");
		}
	}
	return read_fields(in, record, object, ret_value);
}

int xp_record_read(const struct xp_record *record, const json_t *object, struct xp_arena *arena, enum xp_err_code code, void *ret_value,
		   struct xp_err *reterr)
{
	struct reader in = { .arena = arena, .code = code, .reterr = reterr };

	return read_record(&in, record, object, ret_value);
}
