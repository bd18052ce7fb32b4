// SPDX-License-Identifier: Apache-2.0
/* Fault: lines of newer CPythons were off or invented. Tables of every release from 3.8 on give the lines that the release itself reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "elf/python_lines.h"

enum { TABLE_MAX = 4096, LINE_MAX_BYTES = 16384, TABLES = 78, INSTRUCTIONS = 4682 };

struct golden {
	char release[16], name[64];
	uint32_t first_line;
	uint8_t table[TABLE_MAX];
	size_t size;
	char *spans;
};

static bool read_golden(char *text, struct golden *ret_golden)
{
	char *rest = text;
	const char *release = strsep(&rest, " "), *name = strsep(&rest, " "), *first = strsep(&rest, " "), *hex = strsep(&rest, " ");

	if (!rest)
		return false;
	snprintf(ret_golden->release, sizeof(ret_golden->release), "%s", release);
	snprintf(ret_golden->name, sizeof(ret_golden->name), "%s", name);
	ret_golden->first_line = (uint32_t)strtoul(first, NULL, 10);
	ret_golden->size = strlen(hex) / 2;
	assert_true(ret_golden->size <= TABLE_MAX);
	for (size_t i = 0; i < ret_golden->size; i++)
		assert_int_equal(sscanf(hex + 2 * i, "%2hhx", &ret_golden->table[i]), 1);
	ret_golden->spans = rest;
	return true;
}

static enum xp_python_lines format_of(const char *release)
{
	int minor = atoi(release + 2);

	return minor < 10 ? XP_PYTHON_LNOTAB : minor == 10 ? XP_PYTHON_LINETABLE : XP_PYTHON_LOCATIONS;
}

/* Each 2-byte instruction of one code object. Returns how many. */
static size_t check_table(struct golden *golden)
{
	long offset = 0, end, expected;
	uint32_t line;

	for (char *span; (span = strsep(&golden->spans, ","));) {
		assert_int_equal(sscanf(span, "%ld:%ld", &end, &expected), 2);
		for (; offset < end; offset += 2) {
			bool known =
				xp_python_line(format_of(golden->release), golden->table, golden->size, golden->first_line, offset, &line);

			if (known != (expected >= 0) || (known && line != (uint32_t)expected))
				fail_msg("%s %s, offset %ld: %ld, expected %ld", golden->release, golden->name, offset,
					 known ? (long)line : -1, expected);
		}
	}
	return (size_t)offset / 2;
}

static void every_release(void **state)
{
	static char text[LINE_MAX_BYTES];
	static struct golden golden;
	FILE *file = fopen(XP_SOURCE_DIR "/tests/unit/elf_python_lines.txt", "r");
	size_t tables = 0, instructions = 0;

	assert_non_null(file);
	for (; fgets(text, sizeof(text), file); tables++) {
		assert_true(read_golden(text, &golden));
		instructions += check_table(&golden);
	}
	fclose(file);
	assert_int_equal(tables, TABLES);
	assert_int_equal(instructions, INSTRUCTIONS);
}

static void not_started(void **state)
{
	const uint8_t table[] = { 0xd8, 0x04 };
	uint32_t line;

	assert_true(xp_python_line(XP_PYTHON_LOCATIONS, table, sizeof(table), 17, -2, &line));
	assert_int_equal(line, 17);
	assert_true(xp_python_line(XP_PYTHON_LNOTAB, NULL, 0, 19, -1, &line));
	assert_int_equal(line, 19);
}

/* What a damaged table does not tell is no line, never a made-up one. */
static void damaged(void **state)
{
	const uint8_t no_head[] = { 0x04, 0x80 };				/* the first byte lacks bit 7 */
	const uint8_t endless[] = { 0xe8, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f }; /* a number that never ends */
	const uint8_t cut[] = { 0xe8 };						/* ends where its number should be */
	const uint8_t below[] = { 0xe8, 0x17 };					/* line 3 - 11 */
	const uint8_t short_310[] = { 4, 1, 2 };				/* the second pair is half */
	uint32_t line = 23;

	assert_false(xp_python_line(XP_PYTHON_LOCATIONS, no_head, sizeof(no_head), 3, 0, &line));
	assert_false(xp_python_line(XP_PYTHON_LOCATIONS, endless, sizeof(endless), 3, 0, &line));
	assert_false(xp_python_line(XP_PYTHON_LOCATIONS, cut, sizeof(cut), 3, 0, &line));
	assert_false(xp_python_line(XP_PYTHON_LOCATIONS, below, sizeof(below), 3, 0, &line));
	assert_false(xp_python_line(XP_PYTHON_LINETABLE, short_310, sizeof(short_310), 3, 4, &line));
	assert_false(xp_python_line(XP_PYTHON_LOCATIONS, below, 0, 3, 0, &line));
	assert_int_equal(line, 23);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_release),
		cmocka_unit_test(not_started),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
