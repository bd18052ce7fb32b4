// SPDX-License-Identifier: Apache-2.0
/* Line tables of CPython's code objects. In: table bytes and an instruction's offset. Out: its line. No state. */
#include "elf/python_lines.h"

enum { NO_LINE_310 = -128 };

/* Kinds of a 3.11 entry, bits 3-6 of its first byte; smaller ones have the line of the entry before. */
enum { ONE_LINE_FIRST = 10, NO_COLUMNS = 13, LONG = 14, NO_LINE = 15 };

/* Lines are ints in CPython; what leaves that range is damage. */
static bool give_line(int64_t line, uint32_t *ret_line)
{
	if (line < 0 || line > INT32_MAX)
		return false;
	*ret_line = (uint32_t)line;
	return true;
}

/* A line holds until the next pair's address; the last one to the end of the code. */
static bool find_lnotab(const uint8_t *table, size_t size, int64_t line, int64_t offset, uint32_t *ret_line)
{
	int64_t address = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		address += table[i];
		if (address > offset)
			break;
		line += (int8_t)table[i + 1];
	}
	return give_line(line, ret_line);
}

static bool find_linetable(const uint8_t *table, size_t size, int64_t line, int64_t offset, uint32_t *ret_line)
{
	int64_t end = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		int8_t distance = (int8_t)table[i + 1];

		end += table[i];
		if (distance != NO_LINE_310)
			line += distance;
		if (offset < end)
			return distance != NO_LINE_310 && give_line(line, ret_line);
	}
	return false;
}

struct cursor {
	const uint8_t *at, *end;
};

/* 6 bits a byte, lowest first; bit 6 says that another byte follows. */
static bool take_number(struct cursor *cursor, uint32_t *ret_number)
{
	uint64_t number = 0;

	for (unsigned shift = 0; shift < 36; shift += 6) {
		if (cursor->at == cursor->end)
			return false;
		uint8_t byte = *cursor->at++;
		number |= (uint64_t)(byte & 63) << shift;
		if (byte & 64)
			continue;
		*ret_number = (uint32_t)number;
		return number <= UINT32_MAX;
	}
	return false;
}

/* The sign is the lowest bit. */
static bool take_signed(struct cursor *cursor, int64_t *ret_number)
{
	uint32_t number;

	if (!take_number(cursor, &number))
		return false;
	*ret_number = number & 1 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
	return true;
}

/* Skips what stands behind an entry's first byte, up to the next one: columns and end lines, which nobody asks for. */
static void skip_rest(struct cursor *cursor)
{
	while (cursor->at != cursor->end && !(*cursor->at & 128))
		cursor->at++;
}

static bool find_locations(const uint8_t *table, size_t size, int64_t line, int64_t offset, uint32_t *ret_line)
{
	struct cursor cursor = { table, table + size };
	int64_t end = 0;

	while (cursor.at != cursor.end) {
		uint8_t head = *cursor.at++;
		int kind = head >> 3 & 15;
		int64_t distance = 0;

		if (!(head & 128))
			return false;
		if (kind == NO_COLUMNS || kind == LONG) {
			if (!take_signed(&cursor, &distance))
				return false;
		} else if (kind >= ONE_LINE_FIRST && kind != NO_LINE) {
			distance = kind - ONE_LINE_FIRST;
		}
		line += distance;
		end += 2 * ((head & 7) + 1);
		if (offset < end)
			return kind != NO_LINE && give_line(line, ret_line);
		skip_rest(&cursor);
	}
	return false;
}

bool xp_python_line(enum xp_python_lines format, const uint8_t *table, size_t size, uint32_t first_line, int64_t offset, uint32_t *ret_line)
{
	if (offset < 0)
		return give_line(first_line, ret_line);
	switch (format) {
	case XP_PYTHON_LNOTAB:
		return find_lnotab(table, size, first_line, offset, ret_line);
	case XP_PYTHON_LINETABLE:
		return find_linetable(table, size, first_line, offset, ret_line);
	case XP_PYTHON_LOCATIONS:
		return find_locations(table, size, first_line, offset, ret_line);
	}
	return false;
}
