/* SPDX-License-Identifier: Apache-2.0 */
/* JSON writer on a text builder. No state of its own. */
#include "base/json.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void newline(struct xp_json *json)
{
	if (!json->pretty)
		return;
	xp_text_char(json->out, '\n');
	for (unsigned i = 0; i < json->depth; i++)
		xp_text_str(json->out, "  ");
}

static void before_value(struct xp_json *json)
{
	if (json->after_key) {
		json->after_key = false;
		return;
	}
	if (!json->depth)
		return;
	if (json->have_item[json->depth])
		xp_text_char(json->out, ',');
	json->have_item[json->depth] = true;
	newline(json);
}

void xp_json_begin(struct xp_json *json, char bracket)
{
	before_value(json);
	xp_text_char(json->out, bracket);
	json->depth++;
	assert(json->depth < XP_LEN(json->have_item));
	json->have_item[json->depth] = false;
}

void xp_json_end(struct xp_json *json, char bracket)
{
	bool any = json->have_item[json->depth];

	json->depth--;
	if (any)
		newline(json);
	xp_text_char(json->out, bracket);
}

/* 1 for bytes that stand for themselves inside a JSON string: printable ASCII but the quote and the backslash. */
static bool plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* U+FFFF marks integers that jansson cannot hold (json_read.c), so no text of ours may carry it: a name from the system could. */
static bool is_carrier(const char *p, size_t len)
{
	return len == 3 && !memcmp(p, "\xef\xbf\xbf", 3);
}

/* Plain runs are copied whole: names and keys are nearly always one run, and an export writes tens of them per event. */
static void escaped(struct xp_text *out, const char *text, size_t len)
{
	const char *end = text + len;

	xp_text_char(out, '"');
	for (const char *p = text; p < end;) {
		const char *run = p;

		while (p < end && plain((unsigned char)*p))
			p++;
		if (p > run)
			xp_text_add(out, run, (size_t)(p - run));
		if (p == end)
			break;
		unsigned char c = (unsigned char)*p;
		size_t n = xp_utf8_len(p, end);
		if (c == '"' || c == '\\')
			xp_text_fmt(out, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			xp_text_fmt(out, "\\u%04x", c);
		else if (n && !is_carrier(p, n))
			xp_text_add(out, p, n);
		else
			xp_text_str(out, "\xef\xbf\xbd");
		p += n ? n : 1;
	}
	xp_text_char(out, '"');
}

/* Decimal digits without the cost of a format string. */
static void digits(struct xp_text *out, uint64_t value)
{
	char text[24], *p = text + sizeof(text);

	do
		*--p = (char)('0' + value % 10);
	while (value /= 10);
	xp_text_add(out, p, (size_t)(text + sizeof(text) - p));
}

void xp_json_key(struct xp_json *json, const char *key)
{
	before_value(json);
	escaped(json->out, key, strlen(key));
	xp_text_str(json->out, json->pretty ? ": " : ":");
	json->after_key = true;
}

void xp_json_str(struct xp_json *json, const char *text)
{
	if (!text) {
		xp_json_null(json);
		return;
	}
	before_value(json);
	escaped(json->out, text, strlen(text));
}

void xp_json_u64(struct xp_json *json, uint64_t value)
{
	before_value(json);
	digits(json->out, value);
}

void xp_json_i64(struct xp_json *json, int64_t value)
{
	before_value(json);
	if (value < 0)
		xp_text_char(json->out, '-');
	digits(json->out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void xp_json_f64(struct xp_json *json, double value)
{
	char text[40];

	if (!isfinite(value)) {
		xp_json_null(json);
		return;
	}
	before_value(json);
	/* 15 digits come back unchanged from a double, so the shortest text that has no more is these without their zeros at the end. */
	for (int precision = 15; precision <= 17; precision++) {
		snprintf(text, sizeof(text), "%.*g", precision, value);
		if (strtod(text, NULL) == value)
			break;
	}
	/* A whole number with zeros at its end: 1200.0 reads better than 1.2e+03 and is as exact. */
	if (strchr(text, 'e') && fabs(value) >= 1 && fabs(value) < 1e15)
		snprintf(text, sizeof(text), "%.1f", value);
	xp_text_str(json->out, text);
	if (!strpbrk(text, ".e"))
		xp_text_str(json->out, ".0");
}

void xp_json_bool(struct xp_json *json, bool value)
{
	before_value(json);
	xp_text_str(json->out, value ? "true" : "false");
}

void xp_json_null(struct xp_json *json)
{
	before_value(json);
	xp_text_str(json->out, "null");
}

static void write_object(struct xp_json *json, const json_t *value)
{
	const char *key;
	json_t *member;

	xp_json_begin(json, '{');
	json_object_foreach((json_t *)value, key, member)
	{
		xp_json_key(json, key);
		xp_json_value(json, member);
	}
	xp_json_end(json, '}');
}

void xp_json_value(struct xp_json *json, const json_t *value)
{
	uint64_t big;

	if (!value || json_is_null(value)) {
		xp_json_null(json);
	} else if (json_is_object(value)) {
		write_object(json, value);
	} else if (json_is_array(value)) {
		xp_json_begin(json, '[');
		for (size_t i = 0; i < json_array_size(value); i++)
			xp_json_value(json, json_array_get(value, i));
		xp_json_end(json, ']');
	} else if (json_is_string(value) && !xp_json_is_text(value)) {
		xp_json_get_u64(value, &big);
		xp_json_u64(json, big);
	} else if (json_is_string(value)) {
		before_value(json);
		escaped(json->out, json_string_value(value), json_string_length(value));
	} else if (json_is_integer(value)) {
		xp_json_i64(json, json_integer_value(value));
	} else if (json_is_real(value)) {
		xp_json_f64(json, json_real_value(value));
	} else {
		xp_json_bool(json, json_is_true(value));
	}
}

json_t *xp_json_count(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

/* Nothing in it needs repair: the common case, without a copy. */
static bool is_sound(const char *text)
{
	const char *end = text + strlen(text);

	for (size_t n; text < end; text += n) {
		n = xp_utf8_len(text, end);
		if (!n || is_carrier(text, n))
			return false;
	}
	return true;
}

json_t *xp_json_text(const char *text)
{
	if (is_sound(text))
		return json_string_nocheck(text);

	xp_auto(xp_arena_free) struct xp_arena *scratch = xp_arena_new();
	char *clean = xp_utf8_clean(scratch, text, strlen(text));
	for (char *p = clean; (p = strchr(p, '\xef')); p++)
		if (is_carrier(p, 3))
			p[2] = '\xbd';
	return json_string_nocheck(clean);
}

json_t *xp_json_selector(const char *text)
{
	enum { SELECTOR_BYTES = 4096 };
	xp_auto(xp_arena_free) struct xp_arena *scratch = xp_arena_new();

	return xp_json_text(strlen(text) > SELECTOR_BYTES ? xp_utf8_cut(scratch, text, SELECTOR_BYTES, NULL) : text);
}
