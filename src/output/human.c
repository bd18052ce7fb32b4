/* SPDX-License-Identifier: Apache-2.0 */
/* Safe text, units and bars for reports. In: values. Out: text. No state. */
#include "output/human.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char ellipsis[] = "\xe2\x80\xa6";

void xp_human_tone(struct xp_text *out, enum xp_tone tone, bool color)
{
	static const char *const codes[XP_TONE_COUNT] = {
		[XP_TONE_PLAIN] = "\x1b[0m", [XP_TONE_STRONG] = "\x1b[1m", [XP_TONE_DIM] = "\x1b[2m",
		[XP_TONE_GOOD] = "\x1b[32m", [XP_TONE_WARN] = "\x1b[33m",
	};

	if (color)
		xp_text_str(out, codes[tone]);
}

/* One character at p: its length, and whether it may be shown as it is. */
static size_t character(const char *p, const char *end, bool *ret_safe)
{
	size_t len = xp_utf8_len(p, end);
	unsigned char first = (unsigned char)p[0], second = len > 1 ? (unsigned char)p[1] : 0;
	bool c1 = len == 2 && first == 0xc2 && second < 0xa0;

	*ret_safe = len && !c1 && (len > 1 || (first >= 0x20 && first != 0x7f));
	return len ? len : 1;
}

static size_t width_of(const char *text, size_t len)
{
	const char *end = text + len;
	size_t columns = 0;
	bool safe;

	for (const char *p = text; p < end; p += character(p, end, &safe))
		columns++;
	return columns;
}

static size_t put(struct xp_text *out, const char *text, size_t len, size_t columns)
{
	const char *end = text + len;
	size_t written = 0;

	for (const char *p = text; p < end && written < columns; written++) {
		bool safe;
		size_t n = character(p, end, &safe);

		xp_text_add(out, safe ? p : "?", safe ? n : 1);
		p += n;
	}
	return written;
}

size_t xp_human_text(struct xp_text *out, const char *text, size_t columns)
{
	size_t len = strlen(text);

	if (width_of(text, len) <= columns)
		return put(out, text, len, columns);
	size_t written = put(out, text, len, columns ? columns - 1 : 0);
	if (columns)
		xp_text_str(out, ellipsis);
	return written + (columns > 0);
}

size_t xp_human_tail(struct xp_text *out, const char *text, size_t columns)
{
	size_t len = strlen(text), width = width_of(text, len);
	const char *p = text, *end = text + len;
	bool safe;

	if (width <= columns || !columns)
		return put(out, text, len, columns);
	for (size_t skip = width - (columns - 1); skip; skip--)
		p += character(p, end, &safe);
	xp_text_str(out, ellipsis);
	return 1 + put(out, p, (size_t)(end - p), columns - 1);
}

void xp_human_wrap(struct xp_text *out, const char *text, size_t column, size_t indent)
{
	size_t room = XP_REPORT_COLUMNS - indent;
	bool first = true;

	while (*text) {
		size_t len = strcspn(text, " "), width = width_of(text, len);

		if (!first && column + 1 + width > XP_REPORT_COLUMNS) {
			xp_text_fmt(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (!first) {
			xp_text_char(out, ' ');
			column++;
		}
		column += put(out, text, len, room);
		first = false;
		text += len;
		text += strspn(text, " ");
	}
}

static const char *scaled(char *buf, double value, const double *steps, const char *const *units, size_t n)
{
	size_t i = 0;

	while (i + 1 < n && value >= steps[i + 1])
		i++;
	double shown = value / steps[i];
	snprintf(buf, XP_HUMAN_SIZE, "%.*f %s", i == 0 || shown >= 99.95 ? 0 : shown >= 9.995 ? 1 : 2, shown, units[i]);
	return buf;
}

const char *xp_human_ns(char *buf, double ns)
{
	static const double steps[] = { 1, 1e3, 1e6, 1e9 };
	static const char *const units[] = { "ns", "us", "ms", "s" };

	return scaled(buf, ns, steps, units, 4);
}

const char *xp_human_bytes(char *buf, uint64_t bytes)
{
	static const double steps[] = { 1, 1024, 1048576, 1073741824 };
	static const char *const units[] = { "B", "KiB", "MiB", "GiB" };

	return scaled(buf, (double)bytes, steps, units, 4);
}

void xp_human_bar(struct xp_text *out, uint64_t value, uint64_t full, size_t columns)
{
	size_t n = full ? (size_t)((double)value / (double)full * (double)columns + 0.5) : 0;

	if (value && !n)
		n = 1;
	for (size_t i = 0; i < n && i < columns; i++)
		xp_text_char(out, '#');
}
