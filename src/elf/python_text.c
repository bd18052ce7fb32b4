// SPDX-License-Identifier: Apache-2.0
/* Python's str objects out of the target. In: addresses. Out: UTF-8, each text once. State: the texts of struct xp_python. */
#include <stdlib.h>

#include "base/text.h"
#include "elf/python_priv.h"

/* Bits of PyASCIIObject.state in builds with a GIL, 3.8 to 3.14. */
enum { KIND_SHIFT = 2, KIND_MASK = 7, COMPACT = 1 << 5, ASCII = 1 << 6, CHARS_MAX = 1024 };

static void add_char(struct xp_text *out, uint32_t c)
{
	char bytes[4];
	size_t n = 0;

	if (c >= 0xd800 && (c < 0xe000 || c > 0x10ffff))
		c = 0xfffd; /* a lone surrogate, or damage */
	if (c < 0x80) {
		bytes[n++] = (char)c;
	} else if (c < 0x800) {
		bytes[n++] = (char)(0xc0 | c >> 6);
	} else if (c < 0x10000) {
		bytes[n++] = (char)(0xe0 | c >> 12);
		bytes[n++] = (char)(0x80 | (c >> 6 & 63));
	} else {
		bytes[n++] = (char)(0xf0 | c >> 18);
		bytes[n++] = (char)(0x80 | (c >> 12 & 63));
		bytes[n++] = (char)(0x80 | (c >> 6 & 63));
	}
	if (c >= 0x80)
		bytes[n++] = (char)(0x80 | (c & 63));
	xp_text_add(out, bytes, n);
}

static uint32_t char_at(const unsigned char *data, uint32_t width, size_t i)
{
	uint32_t wide;
	uint16_t half;

	if (width == 1)
		return data[i];
	if (width == 2) {
		memcpy(&half, data + 2 * i, sizeof(half));
		return half;
	}
	memcpy(&wide, data + 4 * i, sizeof(wide));
	return wide;
}

static bool same_text(uint64_t value, const void *arg)
{
	return !strcmp((const char *)(uintptr_t)value, arg);
}

static const char *keep_once(struct xp_python *python, const struct xp_text *text)
{
	bool new;
	uint64_t *slot = xp_map_at(&python->texts, xp_hash_bytes(text->data, text->len, 0), same_text, text->data, &new);

	if (new)
		*slot = (uintptr_t)xp_arena_dup(python->arena, text->data, text->len);
	return (const char *)(uintptr_t)*slot;
}

const char *xp_python_text(struct xp_python *python, uint64_t object, size_t max_chars)
{
	const struct xp_python_objects *objects = &python->objects;
	unsigned char data[4 * CHARS_MAX];
	xp_auto_builder out = { 0 };
	uint64_t length;
	uint32_t state;

	if (!xp_python_peek_word(python, object + objects->text_length, &length) ||
	    !xp_python_peek(python, object + objects->text_state, &state, sizeof(state)))
		return NULL;
	uint32_t width = state >> KIND_SHIFT & KIND_MASK;
	if (!(state & COMPACT) || (width != 1 && width != 2 && width != 4) || length > INT32_MAX)
		return NULL;
	max_chars = max_chars < CHARS_MAX ? max_chars : CHARS_MAX;
	size_t n = length < max_chars ? length : max_chars;
	if (n && !xp_python_peek(python, object + (state & ASCII ? objects->text_ascii : objects->text_compact), data, n * width))
		return NULL;
	xp_text_str(&out, "");
	for (size_t i = 0; i < n; i++)
		add_char(&out, char_at(data, width, i));
	if (n < length)
		add_char(&out, 0x2026);
	return keep_once(python, &out);
}
