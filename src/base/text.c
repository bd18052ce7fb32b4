/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded text builder and UTF-8 repair. No state. */
#include "base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct xp_text *text, size_t more)
{
	size_t need = text->len + more + 1;

	if (need <= text->cap)
		return true;
	size_t cap = text->cap ? text->cap * 2 : 256;
	if (cap < need)
		cap = need;
	char *data = realloc(text->data, cap);
	if (!data)
		abort();
	text->data = data;
	text->cap = cap;
	return true;
}

void xp_text_add(struct xp_text *text, const char *bytes, size_t len)
{
	if (text->limit && text->len + len > text->limit) {
		text->cut = true;
		len = text->limit - text->len;
	}
	reserve(text, len);
	memcpy(text->data + text->len, bytes, len);
	text->len += len;
	text->data[text->len] = '\0';
}

void xp_text_str(struct xp_text *text, const char *str)
{
	xp_text_add(text, str, strlen(str));
}

void xp_text_char(struct xp_text *text, char c)
{
	xp_text_add(text, &c, 1);
}

void xp_text_fmt(struct xp_text *text, const char *fmt, ...)
{
	char stack[512];
	va_list ap, again;

	va_start(ap, fmt);
	va_copy(again, ap);
	int len = vsnprintf(stack, sizeof(stack), fmt, ap);
	va_end(ap);
	if (len >= 0 && (size_t)len < sizeof(stack)) {
		xp_text_add(text, stack, (size_t)len);
	} else if (len >= 0) {
		xp_auto_text big = malloc((size_t)len + 1);

		if (!big)
			abort();
		vsnprintf(big, (size_t)len + 1, fmt, again);
		xp_text_add(text, big, (size_t)len);
	}
	va_end(again);
}

void xp_text_done(struct xp_text *text)
{
	free(text->data);
	memset(text, 0, sizeof(*text));
}

/* RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. */
size_t xp_utf8_len(const char *p, const char *end)
{
	const unsigned char *s = (const unsigned char *)p;
	size_t left = (size_t)(end - p), len;
	unsigned char low = 0x80, high = 0xbf;

	if (!left)
		return 0;
	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		len = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		len = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		len = 4;
	else
		return 0;
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	if (left < len || s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

static const char replacement[] = "\xef\xbf\xbd";
static const char ellipsis[] = "\xe2\x80\xa6";

char *xp_utf8_clean(struct xp_arena *arena, const char *bytes, size_t len)
{
	const char *end = bytes + len;
	xp_auto_builder out = { 0 };

	for (const char *p = bytes; p < end;) {
		size_t n = xp_utf8_len(p, end);

		if (n) {
			xp_text_add(&out, p, n);
			p += n;
		} else {
			xp_text_str(&out, replacement);
			p++;
		}
	}
	return xp_arena_dup(arena, out.data ? out.data : "", out.len);
}

char *xp_utf8_cut(struct xp_arena *arena, const char *text, size_t max, bool *ret_cut)
{
	char *clean = xp_utf8_clean(arena, text, strlen(text));
	size_t len = strlen(clean), keep = 0, mark = sizeof(ellipsis) - 1;

	if (ret_cut)
		*ret_cut = len > max;
	if (len <= max)
		return clean;
	while (keep < len) {
		size_t n = xp_utf8_len(clean + keep, clean + len);

		if (keep + n + mark > max)
			break;
		keep += n;
	}
	char *cut = xp_arena_zalloc(arena, keep + mark + 1);
	memcpy(cut, clean, keep);
	if (max >= mark)
		memcpy(cut + keep, ellipsis, mark);
	return cut;
}
