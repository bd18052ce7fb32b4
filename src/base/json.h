/* SPDX-License-Identifier: Apache-2.0 */
/* JSON text out (strict, escaped, 64-bit exact) and the one way JSON text comes in. */
#ifndef XP_BASE_JSON_H
#define XP_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

/* Writer state; zero-initialise with .out set. Values are separated and indented by the writer, never by the caller. */
struct xp_json {
	struct xp_text *out;
	bool pretty;
	unsigned depth;
	bool have_item[64]; /* per depth: something was written already */
	bool after_key;
};

void xp_json_begin(struct xp_json *json, char bracket); /* '{' or '[' */
void xp_json_end(struct xp_json *json, char bracket);	/* '}' or ']' */
void xp_json_key(struct xp_json *json, const char *key);
/* Bytes that are not UTF-8, and U+FFFF, become U+FFFD; 0x00-0x1f and 0x7f are escaped. NULL writes null. */
void xp_json_str(struct xp_json *json, const char *text);
void xp_json_u64(struct xp_json *json, uint64_t value);
void xp_json_i64(struct xp_json *json, int64_t value);
/* Shortest text that reads back to the same double; NaN and infinities write null. */
void xp_json_f64(struct xp_json *json, double value);
void xp_json_bool(struct xp_json *json, bool value);
void xp_json_null(struct xp_json *json);
/* An open value built with jansson; NULL writes null. */
void xp_json_value(struct xp_json *json, const json_t *value);

/*
 * Parses one whole document (duplicate keys, trailing text and NUL bytes are errors). Integers from 2^63 to 2^64-1, which jansson
 * cannot hold, arrive as strings that xp_json_get_u64 understands. Returns an owned reference, or NULL with the reason in *ret_why
 * (static storage of the caller, `why_size` bytes).
 */
json_t *xp_json_parse(const char *text, size_t len, char *ret_why, size_t why_size);
/* True and the value when `value` is an integer 0..2^64-1 as xp_json_parse delivers it. */
bool xp_json_get_u64(const json_t *value, uint64_t *ret_value);
/* True for a real JSON string, false for the carrier of a large integer. */
bool xp_json_is_text(const json_t *value);

/* json_integer for counts and ns; saturates at 2^63-1, which no clock or counter of ours reaches. */
json_t *xp_json_count(uint64_t value);
/* An integer over the whole range 0..2^64-1, in the form that xp_json_parse delivers and xp_json_value writes. */
json_t *xp_json_exact(uint64_t value);
/* json_string of text made valid UTF-8, without U+FFFF, first. */
json_t *xp_json_text(const char *text);
/* The same, at most 4,096 bytes: an error has a budget, too. */
json_t *xp_json_selector(const char *text);

#endif
