/* SPDX-License-Identifier: Apache-2.0 */
/* Text: a growing builder with a cap that records truncation, and UTF-8 repair and cutting. */
#ifndef XP_BASE_TEXT_H
#define XP_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/* Growing, NUL-terminated text. Zero-initialised is empty; `limit` 0 means no cap. `cut` is set when something did not fit. */
struct xp_text {
	char *data;
	size_t len, cap, limit;
	bool cut;
};

void xp_text_add(struct xp_text *text, const char *bytes, size_t len);
void xp_text_str(struct xp_text *text, const char *str);
void xp_text_char(struct xp_text *text, char c);
void xp_text_fmt(struct xp_text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void xp_text_done(struct xp_text *text);
#define xp_auto_builder __attribute__((cleanup(xp_text_done))) struct xp_text

/* Length of the UTF-8 sequence at p (1..4) that ends before end, or 0 when the bytes are not valid UTF-8. */
size_t xp_utf8_len(const char *p, const char *end);
/* Copy with every invalid byte replaced by U+FFFD; owned by the arena. */
char *xp_utf8_clean(struct xp_arena *arena, const char *bytes, size_t len);
/* Copy of at most max bytes, cut at a character boundary; a cut text ends in U+2026 (counted in max). Invalid bytes are replaced. */
char *xp_utf8_cut(struct xp_arena *arena, const char *text, size_t max, bool *ret_cut);

#endif
