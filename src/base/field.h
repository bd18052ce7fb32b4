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
#include "base/value.h"

enum xp_field_kind {
	XP_KIND_BOOL,
	XP_KIND_U8,
	XP_KIND_U16,
	XP_KIND_U32,
	XP_KIND_U64,
	XP_KIND_I32,
	XP_KIND_I64,
	XP_KIND_F64,
	XP_KIND_OPT_BOOL,
	XP_KIND_OPT_U32,
	XP_KIND_OPT_U64,
	XP_KIND_OPT_I64,
	XP_KIND_OPT_F64,
	XP_KIND_STR,	   /* const char *; NULL is null */
	XP_KIND_ENUM,	   /* int-sized enum; `names` has the texts; -1 is null */
	XP_KIND_CONST,	   /* always `constant`; no member */
	XP_KIND_TRUE,	   /* always true; no member */
	XP_KIND_FALSE,	   /* always false; no member */
	XP_KIND_OBJ,	   /* embedded struct of `sub` */
	XP_KIND_PTR,	   /* pointer to a struct of `sub`; NULL is null */
	XP_KIND_LIST,	   /* pointer to structs of `sub`, count at `count_offset` (size_t) */
	XP_KIND_PTRS,	   /* pointer to pointers to structs of `sub`, count at `count_offset` */
	XP_KIND_STRS,	   /* const char *const *, count at `count_offset` */
	XP_KIND_U64S,	   /* uint64_t *, count at `count_offset` */
	XP_KIND_U32S,	   /* uint32_t *, count at `count_offset` */
	XP_KIND_COUNTS,	   /* struct xp_count *, count at `count_offset`: an object {name: n} */
	XP_KIND_TEXTS,	   /* struct xp_named_text *, count at `count_offset`: an object {name: text}, in the order of the text */
	XP_KIND_HISTOGRAM, /* struct xp_histogram: [[bucket, n]] */
	XP_KIND_INTERVAL,  /* struct xp_interval: [low, high] */
	XP_KIND_JSON,	   /* json_t *: open value; NULL is null, or {} with XP_OPEN_OBJECT */
	XP_KIND_VARIANT,   /* pointer to a struct whose first member is an int index into `variants` */
	XP_KIND_COUNT
};

enum xp_field_flag {
	XP_NULLABLE = 1, /* null is allowed (told to schema and docs; checked on input) */
	XP_OPTIONAL = 2, /* left out when null; may be missing on input */
	/* Sub-records below this field leave out null members, empty objects, constants, and lists with a pointer but a count of 0 (10.3).
	 */
	XP_SPARSE = 4,
	XP_OPEN_OBJECT = 8,	 /* JSON kind: an object with any members; NULL writes {} */
	XP_OPEN_ARRAY = 16,	 /* JSON kind: an array; NULL writes [] */
	XP_NULL_WHEN_EMPTY = 32, /* LIST, PTRS, STRS: a NULL pointer writes null instead of [] */
};

struct xp_record;

struct xp_field {
	const char *name;
	const char *doc; /* meaning, one line */
	enum xp_field_kind kind;
	unsigned flags;
	size_t offset, count_offset;
	const struct xp_record *sub;
	const char *const *names;
	size_t n_names;
	const char *constant;
	const struct xp_record *const *variants;
	size_t n_variants;
	uint64_t max; /* unsigned kinds: largest value told to the schema; 0: the type's own */
};

struct xp_record {
	const char *name; /* as in the contract: "MeasurementResult" */
	const char *doc;
	const struct xp_field *fields;
	size_t n_fields;
	size_t size; /* sizeof the C struct */
	bool closed; /* specs and Events: unknown members are an error on input and in the schema */
};

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
/* One Markdown section: the record alone, without its sub-records. */
void xp_record_doc(struct xp_text *out, const struct xp_record *record);

#include "base/field_table.h"

#endif
