/* SPDX-License-Identifier: Apache-2.0 */
/* JSON text in: jansson, with integers from 2^63 to 2^64-1 carried as marked strings because jansson holds 63 bits. No state. */
#include "base/json.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* No JSON text can contain this as a string: U+FFFF is a non-character, and a literal one is rejected below. */
#define CARRIER "\xef\xbf\xbf"
enum { CARRIER_LEN = sizeof(CARRIER) - 1, LARGE_DIGITS = 19 };

/* Length of the integer token at p when it lies in 2^63..2^64-1, else 0. */
static size_t large_integer(const char *p, const char *end)
{
	const char *q = p;
	char digits[24];

	while (q < end && isdigit((unsigned char)*q))
		q++;
	size_t len = (size_t)(q - p);
	if (len < LARGE_DIGITS || len > LARGE_DIGITS + 1 || *p == '0' || (q < end && strchr(".eE", *q)))
		return 0;
	memcpy(digits, p, len);
	digits[len] = '\0';
	unsigned __int128 value = 0;
	for (size_t i = 0; i < len; i++)
		value = value * 10 + (unsigned)(digits[i] - '0');
	return value > INT64_MAX && value <= UINT64_MAX ? len : 0;
}

/* The position behind the string that begins at p, or end. */
static const char *skip_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\')
			p++;
	return p < end ? p + 1 : end;
}

/* Copies text into `out`, quoting large integers outside strings. Without any, `out` stays empty: the text can be parsed as it is. */
static void carry_large(const char *text, size_t len, struct xp_text *out)
{
	const char *end = text + len, *copied = text;

	for (const char *p = text; p < end;) {
		if (*p == '"') {
			p = skip_string(p, end);
			continue;
		}
		if (!isdigit((unsigned char)*p)) {
			p++;
			continue;
		}
		const char *start = p;
		while (p < end && isdigit((unsigned char)*p))
			p++;
		bool fraction = start > text && (start[-1] == '-' || start[-1] == '.');
		size_t n = p - start >= LARGE_DIGITS && !fraction ? large_integer(start, end) : 0;
		if (!n)
			continue;
		xp_text_add(out, copied, (size_t)(start - copied));
		xp_text_str(out, "\"" CARRIER);
		xp_text_add(out, start, n);
		xp_text_char(out, '"');
		copied = p;
	}
	if (out->len)
		xp_text_add(out, copied, (size_t)(end - copied));
}

/* The marker itself, or an escape for it in any mix of cases. */
static bool mentions_carrier(const char *text, size_t len)
{
	static const char escape[] = "\\uffff";
	const size_t size = sizeof(escape) - 1;

	if (memmem(text, len, CARRIER, CARRIER_LEN))
		return true;
	const char *end = text + len;
	for (const char *p = text; (p = memchr(p, '\\', (size_t)(end - p))); p++)
		if ((size_t)(end - p) >= size && !strncasecmp(p, escape, size))
			return true;
	return false;
}

json_t *xp_json_parse(const char *text, size_t len, char *ret_why, size_t why_size)
{
	xp_auto_builder carried = { 0 };
	json_error_t error;

	if (mentions_carrier(text, len)) {
		snprintf(ret_why, why_size, "the text contains the non-character U+FFFF");
		return NULL;
	}
	carry_large(text, len, &carried);
	if (carried.len) {
		text = carried.data;
		len = carried.len;
	}
	json_t *value = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
	if (!value)
		snprintf(ret_why, why_size, "%s (line %d, column %d)", error.text, error.line, error.column);
	return value;
}

bool xp_json_is_text(const json_t *value)
{
	return json_is_string(value) && strncmp(json_string_value(value), CARRIER, CARRIER_LEN) != 0;
}

bool xp_json_get_u64(const json_t *value, uint64_t *ret_value)
{
	if (json_is_integer(value) && json_integer_value(value) >= 0) {
		*ret_value = (uint64_t)json_integer_value(value);
		return true;
	}
	if (!json_is_string(value) || xp_json_is_text(value))
		return false;
	*ret_value = strtoull(json_string_value(value) + CARRIER_LEN, NULL, 10);
	return true;
}

json_t *xp_json_exact(uint64_t value)
{
	char carried[CARRIER_LEN + 24];

	if (value <= INT64_MAX)
		return json_integer((json_int_t)value);
	snprintf(carried, sizeof(carried), CARRIER "%llu", (unsigned long long)value);
	return json_string_nocheck(carried);
}
