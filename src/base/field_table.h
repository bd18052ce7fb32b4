/* SPDX-License-Identifier: Apache-2.0 */
/* Macros that write the rows of a field table; each checks that the C member has the size of the kind. Comes with base/field.h. */
#ifndef XP_BASE_FIELD_TABLE_H
#define XP_BASE_FIELD_TABLE_H

#include "base/field.h"

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
#define XP_FIELD_AS(type, label, member, K, text, ...)                                                                                     \
	{                                                                                                                                  \
		.name = (label), .doc = (text), .kind = XP_KIND_##K, .offset = XP_OFFSET_OF_SIZE(type, member, XP_SIZE_##K), ##__VA_ARGS__ \
	}
#define XP_FIELD(type, member, K, text, ...) XP_FIELD_AS(type, #member, member, K, text, ##__VA_ARGS__)
#define XP_FIELD_ENUM(type, member, table, text, ...)                                                                         \
	{                                                                                                                     \
		.name = #member, .doc = (text), .kind = XP_KIND_ENUM, .offset = XP_OFFSET_OF_SIZE(type, member, sizeof(int)), \
		.names = (table), .n_names = XP_LEN(table), ##__VA_ARGS__                                                     \
	}
#define XP_FIELD_OBJ(type, member, record, text, ...)                                                                          \
	{                                                                                                                      \
		.name = #member, .doc = (text), .kind = XP_KIND_OBJ, .offset = offsetof(struct type, member), .sub = (record), \
		##__VA_ARGS__                                                                                                  \
	}
#define XP_FIELD_PTR(type, member, record, text, ...)                                                                           \
	{                                                                                                                       \
		.name = #member, .doc = (text), .kind = XP_KIND_PTR, .offset = XP_OFFSET_OF_SIZE(type, member, sizeof(void *)), \
		.sub = (record), ##__VA_ARGS__                                                                                  \
	}
/* The count of a list is the size_t member n_<member>. */
#define XP_FIELD_MANY(type, member, K, record, text, ...)                                                                       \
	{                                                                                                                       \
		.name = #member, .doc = (text), .kind = XP_KIND_##K, .offset = XP_OFFSET_OF_SIZE(type, member, sizeof(void *)), \
		.count_offset = XP_OFFSET_OF_SIZE(type, n_##member, sizeof(size_t)), .sub = (record), ##__VA_ARGS__             \
	}
#define XP_FIELD_LIST(type, member, record, text, ...) XP_FIELD_MANY(type, member, LIST, record, text, ##__VA_ARGS__)
#define XP_FIELD_PTRS(type, member, record, text, ...) XP_FIELD_MANY(type, member, PTRS, record, text, ##__VA_ARGS__)
#define XP_FIELD_STRS(type, member, text, ...) XP_FIELD_MANY(type, member, STRS, NULL, text, ##__VA_ARGS__)
#define XP_FIELD_U64S(type, member, text, ...) XP_FIELD_MANY(type, member, U64S, NULL, text, ##__VA_ARGS__)
#define XP_FIELD_U32S(type, member, text, ...) XP_FIELD_MANY(type, member, U32S, NULL, text, ##__VA_ARGS__)
#define XP_FIELD_COUNTS(type, member, text, ...) XP_FIELD_MANY(type, member, COUNTS, NULL, text, ##__VA_ARGS__)
#define XP_FIELD_TEXTS(type, member, text, ...) XP_FIELD_MANY(type, member, TEXTS, NULL, text, ##__VA_ARGS__)
#define XP_FIELD_VARIANT(type, member, table, text, ...)                                                                            \
	{                                                                                                                           \
		.name = #member, .doc = (text), .kind = XP_KIND_VARIANT, .offset = XP_OFFSET_OF_SIZE(type, member, sizeof(void *)), \
		.variants = (table), .n_variants = XP_LEN(table), ##__VA_ARGS__                                                     \
	}
#define XP_FIELD_CONST(label, value, text)                                                 \
	{                                                                                  \
		.name = (label), .doc = (text), .kind = XP_KIND_CONST, .constant = (value) \
	}
#define XP_FIELD_TRUE(label, text)                                   \
	{                                                            \
		.name = (label), .doc = (text), .kind = XP_KIND_TRUE \
	}
#define XP_FIELD_FALSE(label, text)                                   \
	{                                                             \
		.name = (label), .doc = (text), .kind = XP_KIND_FALSE \
	}

#define XP_RECORD(label, type, table, text, ...)                                                                                         \
	{                                                                                                                                \
		.name = (label), .doc = (text), .fields = (table), .n_fields = XP_LEN(table), .size = sizeof(struct type), ##__VA_ARGS__ \
	}

#endif
