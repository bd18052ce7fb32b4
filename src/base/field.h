/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field tables: one const table a record makes its JSON (base/field_write.c), reads it (field_read.c), and yields its JSON Schema and
 * its page of documentation (field_schema.c). The C struct is the value; the table says how each member is called, typed and described.
 */
#ifndef XP_BASE_FIELD_H
#define XP_BASE_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

struct xp_opt_bool { bool set, v; };
struct xp_opt_u32 { bool set; uint32_t v; };
struct xp_opt_u64 { bool set; uint64_t v; };
struct xp_opt_i64 { bool set; int64_t v; };
struct xp_opt_f64 { bool set; double v; };
struct xp_interval { bool set; double low, high; }; /* [low, high] or null */
struct xp_count { const char *name; uint64_t n; };  /* member of a {name: n} map */
struct xp_histogram { uint64_t bucket[64]; };	    /* log2 buckets, contract 11 */

#define XP_SOME(value) { .set = true, .v = (value) }

enum xp_field_kind {
	XP_KIND_BOOL, XP_KIND_U8, XP_KIND_U16, XP_KIND_U32, XP_KIND_U64, XP_KIND_I32, XP_KIND_I64, XP_KIND_F64,
	XP_KIND_OPT_BOOL, XP_KIND_OPT_U32, XP_KIND_OPT_U64, XP_KIND_OPT_I64, XP_KIND_OPT_F64,
	XP_KIND_STR,	  /* const char *; NULL is null */
	XP_KIND_ENUM,	  /* int-sized enum; `names` has the texts; -1 is null */
	XP_KIND_CONST,	  /* always `constant`; no member */
	XP_KIND_TRUE,	  /* always true; no member */
	XP_KIND_FALSE,	  /* always false; no member */
	XP_KIND_OBJ,	  /* embedded struct of `sub` */
	XP_KIND_PTR,	  /* pointer to a struct of `sub`; NULL is null */
	XP_KIND_LIST,	  /* pointer to structs of `sub`, count at `count_offset` (size_t) */
	XP_KIND_PTRS,	  /* pointer to pointers to structs of `sub`, count at `count_offset` */
	XP_KIND_STRS,	  /* const char *const *, count at `count_offset` */
	XP_KIND_U64S,	  /* uint64_t *, count at `count_offset` */
	XP_KIND_U32S,	  /* uint32_t *, count at `count_offset` */
	XP_KIND_COUNTS,	  /* struct xp_count *, count at `count_offset`: an object {name: n} */
	XP_KIND_HISTOGRAM,/* struct xp_histogram: [[bucket, n]] */
	XP_KIND_INTERVAL, /* struct xp_interval: [low, high] */
	XP_KIND_JSON,	  /* json_t *: open value; NULL is null, or {} with XP_OPEN_OBJECT */
	XP_KIND_VARIANT,  /* pointer to a struct whose first member is an int index into `variants` */
	XP_KIND_COUNT
};

enum xp_field_flag {
	XP_NULLABLE = 1,     /* null is allowed (told to schema and docs; checked on input) */
	XP_OPTIONAL = 2,     /* left out when null; may be missing on input */
	XP_SPARSE = 4,	     /* sub-records below this field leave out null members, empty objects and constants (contract 10.3) */
	XP_OPEN_OBJECT = 8,  /* JSON kind: an object with any members; NULL writes {} */
	XP_OPEN_ARRAY = 16,  /* JSON kind: an array; NULL writes [] */
	XP_NULL_WHEN_EMPTY = 32, /* LIST, PTRS, STRS: a NULL pointer writes null instead of [] */
};

struct xp_record;

struct xp_field {
	const char *name;
	const char *doc;	      /* meaning, one line */
	enum xp_field_kind kind;
	unsigned flags;
	size_t offset, count_offset;
	const struct xp_record *sub;
	const char *const *names;
	size_t n_names;
	const char *constant;
	const struct xp_record *const *variants;
	size_t n_variants;
	uint64_t max;		      /* unsigned kinds: largest value told to the schema; 0: the type's own */
};

struct xp_record {
	const char *name;	      /* as in the contract: "MeasurementResult" */
	const char *doc;
	const struct xp_field *fields;
	size_t n_fields;
	size_t size;		      /* sizeof the C struct */
	bool closed;		      /* specs and Events: unknown members are an error on input and in the schema */
};

#define XP_SIZE_BOOL sizeof(bool)
#define XP_SIZE_U8 1
#define XP_SIZE_U16 2
#define XP_SIZE_U32 4
#define XP_SIZE_U64 8
#define XP_SIZE_I32 4
#define XP_SIZE_I64 8
#define XP_SIZE_F64 8
#define XP_SIZE_OPT_BOOL sizeof(struct xp_opt_bool)
#define XP_SIZE_OPT_U32 sizeof(struct xp_opt_u32)
#define XP_SIZE_OPT_U64 sizeof(struct xp_opt_u64)
#define XP_SIZE_OPT_I64 sizeof(struct xp_opt_i64)
#define XP_SIZE_OPT_F64 sizeof(struct xp_opt_f64)
#define XP_SIZE_STR sizeof(char *)
#define XP_SIZE_JSON sizeof(json_t *)
#define XP_SIZE_HISTOGRAM sizeof(struct xp_histogram)
#define XP_SIZE_INTERVAL sizeof(struct xp_interval)
/* offsetof that does not compile when the member's size is not that of the kind. */
#define XP_OFFSET_OF_SIZE(type, member, size) \
	(offsetof(struct type, member) + 0 * sizeof(char[sizeof(((struct type *)0)->member) == (size) ? 1 : -1]))

/* Plain members. OPT kinds are nullable by themselves; add .flags = XP_NULLABLE to STR, JSON, F64 as the contract says. */
#define XP_FIELD_AS(type, label, member, K, text, ...) \
	{ .name = (label), .doc = (text), .kind = XP_KIND_##K, .offset = XP_OFFSET_OF_SIZE(type, member, XP_SIZE_##K), ##__VA_ARGS__ }
#define XP_FIELD(type, member, K, text, ...) XP_FIELD_AS(type, #member, member, K, text, ##__VA_ARGS__)
#define XP_FIELD_ENUM(type, member, table, text, ...) \
	{ .name = #member, .doc = (text), .kind = XP_KIND_ENUM, .offset = XP_OFFSET_OF_SIZE(type, member, sizeof(int)), \
	  .names = (table), .n_names = XP_LEN(table), ##__VA_ARGS__ }
#define XP_FIELD_OBJ(type, member, record, text, ...) \
	{ .name = #member, .doc = (text), .kind = XP_KIND_OBJ, .offset = offsetof(struct type, member), .sub = (record), ##__VA_ARGS__ }
#define XP_FIELD_PTR(type, member, record, text, ...) \
	{ .name = #member, .doc = (text), .kind = XP_KIND_PTR, .offset = XP_OFFSET_OF_SIZE(type, member, sizeof(void *)), .sub = (record), ##__VA_ARGS__ }
/* The count of a list is the size_t member n_<member>. */
#define XP_FIELD_MANY(type, member, K, record, text, ...) \
	{ .name = #member, .doc = (text), .kind = XP_KIND_##K, .offset = XP_OFFSET_OF_SIZE(type, member, sizeof(void *)), \
	  .count_offset = XP_OFFSET_OF_SIZE(type, n_##member, sizeof(size_t)), .sub = (record), ##__VA_ARGS__ }
#define XP_FIELD_LIST(type, member, record, text, ...) XP_FIELD_MANY(type, member, LIST, record, text, ##__VA_ARGS__)
#define XP_FIELD_PTRS(type, member, record, text, ...) XP_FIELD_MANY(type, member, PTRS, record, text, ##__VA_ARGS__)
#define XP_FIELD_STRS(type, member, text, ...) XP_FIELD_MANY(type, member, STRS, NULL, text, ##__VA_ARGS__)
#define XP_FIELD_U64S(type, member, text, ...) XP_FIELD_MANY(type, member, U64S, NULL, text, ##__VA_ARGS__)
#define XP_FIELD_U32S(type, member, text, ...) XP_FIELD_MANY(type, member, U32S, NULL, text, ##__VA_ARGS__)
#define XP_FIELD_COUNTS(type, member, text, ...) XP_FIELD_MANY(type, member, COUNTS, NULL, text, ##__VA_ARGS__)
#define XP_FIELD_VARIANT(type, member, table, text, ...) \
	{ .name = #member, .doc = (text), .kind = XP_KIND_VARIANT, .offset = XP_OFFSET_OF_SIZE(type, member, sizeof(void *)), \
	  .variants = (table), .n_variants = XP_LEN(table), ##__VA_ARGS__ }
#define XP_FIELD_CONST(label, value, text) { .name = (label), .doc = (text), .kind = XP_KIND_CONST, .constant = (value) }
#define XP_FIELD_TRUE(label, text) { .name = (label), .doc = (text), .kind = XP_KIND_TRUE }
#define XP_FIELD_FALSE(label, text) { .name = (label), .doc = (text), .kind = XP_KIND_FALSE }

#define XP_RECORD(label, type, table, text, ...) \
	{ .name = (label), .doc = (text), .fields = (table), .n_fields = XP_LEN(table), .size = sizeof(struct type), ##__VA_ARGS__ }

/* Writes `value` (a struct of the record's C type) as one JSON object. sparse: as XP_SPARSE, for the whole record. */
void xp_record_write(struct xp_json *json, const struct xp_record *record, const void *value, bool sparse);

/*
 * Fills *ret_value (record->size bytes, zeroed first) from `object`. Strict: a missing member that is not optional, an unknown member
 * of a closed record, a wrong type or a null where none is allowed fails with `code` and a message that names the member's path.
 * Text is copied into the arena; JSON members keep a reference that the arena releases. VARIANT, COUNTS, HISTOGRAM and INTERVAL
 * are never read (INTERNAL).
 */
int xp_record_read(const struct xp_record *record, const json_t *object, struct xp_arena *arena, enum xp_err_code code, void *ret_value,
		   struct xp_err *reterr);

/* One JSON Schema (draft 2020-12) document of the record, sub-records under $defs. */
void xp_record_schema(struct xp_json *json, const struct xp_record *record);
/* One Markdown section: a table a record, sub-records behind it, each once. */
void xp_record_doc(struct xp_text *out, const struct xp_record *record);

#endif
