/* SPDX-License-Identifier: Apache-2.0 */
/* The human report of a measurement: what it must show, how wide it may be, what it must never pass on. */
#include "measured.h"
#include "output/report_measurement.h"

static size_t columns_of(const char *line, size_t len)
{
	size_t columns = 0;

	for (size_t i = 0; i < len; i++)
		columns += ((unsigned char)line[i] & 0xc0) != 0x80;
	return columns;
}

static void report_fits_and_cannot_steer_the_terminal(void **state)
{
	struct setting s;
	xp_auto_builder out = { 0 }, colored = { 0 };
	char selector[300] = "uprobe:/bin/\x1b[31mevil\xc2\x9b:";

	set(&s, mmaps(100));
	memset(selector + strlen(selector), 'x', sizeof(selector) - strlen(selector) - 1);
	s.capture->start.selector = selector;
	s.request.name = "two words\nand a line end";
	s.capture->pairs.unmatched_end = 1;
	s.window.children = 1;
	struct xp_measurement *value = make(&s);
	xp_report_measurement(value, &out, false);
	for (const char *line = out.data; *line;) {
		size_t len = strcspn(line, "\n");

		if (columns_of(line, len) > 100)
			print_error("%.*s\n", (int)len, line);
		assert_true(columns_of(line, len) <= 100);
		line += len + (line[len] == '\n');
	}
	assert_null(strchr(out.data, 0x1b));
	assert_null(strstr(out.data, "\xc2\x9b"));
	assert_non_null(strstr(out.data, "p50 6.90 us"));
	assert_non_null(strstr(out.data, "p99 11.8 us"));
	assert_non_null(strstr(out.data, "verdict    good"));
	assert_non_null(strstr(out.data, "/tmp/xprobe-8fK2qd/events.jsonl"));
	assert_non_null(strstr(out.data, "unmatched_events"));
	xp_report_measurement(value, &colored, true);
	assert_non_null(strchr(colored.data, 0x1b));
	if (getenv("XP_SHOW"))
		fputs(out.data, stderr);
	done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(report_fits_and_cannot_steer_the_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
