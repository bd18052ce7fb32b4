/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of reports for people: safe text, units, bars, colour only when it was asked for. */
#ifndef XP_OUTPUT_HUMAN_H
#define XP_OUTPUT_HUMAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xp_text;

enum { XP_REPORT_COLUMNS = 100 };

enum xp_tone { XP_TONE_PLAIN, XP_TONE_STRONG, XP_TONE_DIM, XP_TONE_GOOD, XP_TONE_WARN, XP_TONE_COUNT };

/* Between these two the text has that tone; nothing is written without colour. */
void xp_human_tone(struct xp_text *out, enum xp_tone tone, bool color);

/*
 * Text from outside, at most `columns` wide, cut in front or behind with "…". Control characters (also the C1 ones) and bytes that are
 * not UTF-8 become "?": a process name cannot steer the terminal. Every character counts as one column. Returns the columns written.
 */
size_t xp_human_text(struct xp_text *out, const char *text, size_t columns);
size_t xp_human_tail(struct xp_text *out, const char *text, size_t columns);
/* The same, wrapped at blanks; each further line begins with `indent` blanks. `column` is where the first one begins. */
void xp_human_wrap(struct xp_text *out, const char *text, size_t column, size_t indent);

enum { XP_HUMAN_SIZE = 24 };
/* "812 ns", "3.30 us", "9.14 ms", "1.50 s" into buf of XP_HUMAN_SIZE bytes, which is returned. */
const char *xp_human_ns(char *buf, double ns);
/* "141 B", "138 KiB", "12.3 MiB" */
const char *xp_human_bytes(char *buf, uint64_t bytes);
/* `value` of `full` as a bar of at most `columns`; at least one mark when value is above 0. */
void xp_human_bar(struct xp_text *out, uint64_t value, uint64_t full, size_t columns);

#endif
