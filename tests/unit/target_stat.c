/* SPDX-License-Identifier: Apache-2.0 */
/* Fault: a name with ')' and blanks shifted the fields of stat; a name cut inside a letter made a process vanish. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "target/target_priv.h"

#define TAIL " 17 23 29 0 -1 4194560 31 37 41 43 47 53 59 61 20 0 7 0 9007199254740993 1 2 3\n"

static void check_fields(const struct xp_stat *stat)
{
	assert_int_equal(stat->ppid, 17);
	assert_int_equal(stat->major_faults, 41);
	assert_int_equal(stat->utime_ticks, 47);
	assert_int_equal(stat->stime_ticks, 53);
	assert_int_equal(stat->num_threads, 7);
	assert_true(stat->start_time == 9007199254740993u);
}

static void hostile_names(void **state)
{
	static const char *const names[] = { "plain", "a) S 1\n(b\xc3\xa9", "((((", "))) R 1 2 3", "", " ", "abcdefghijkl\xc3\xa9\xc3" };

	for (size_t i = 0; i < XP_LEN(names); i++) {
		char text[256];
		struct xp_stat stat;

		snprintf(text, sizeof(text), "4311 (%s) D" TAIL, names[i]);
		assert_true(xp_stat_parse(text, &stat));
		assert_string_equal(stat.comm, names[i]);
		assert_int_equal(stat.state, 'D');
		check_fields(&stat);
	}
}

static void broken_lines(void **state)
{
	static const char *const lines[] = {
		"", "1", "1 (a", "1 (a)", "1 (a) R", "1 (a) R 1 2 3", ") (R" TAIL, "1 (a) R x" TAIL, "1 (a) R 99999999999999999999999" TAIL
	};
	struct xp_stat stat = { .ppid = 5 };

	for (size_t i = 0; i < XP_LEN(lines); i++)
		assert_false(xp_stat_parse(lines[i], &stat));
	assert_int_equal(stat.ppid, 5);
}

static void live_hostile_name(void **state)
{
	static const char name[] = "a) S 1\n(b\xc3\xa9";
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_NAME, name);
		for (;;)
			pause();
	}
	struct xp_target *target;
	struct xp_stat stat = { 0 };
	xp_auto_err err = { 0 };

	assert_int_equal(xp_target_open((uint32_t)child, NULL, &target, &err), 0);
	for (unsigned i = 0; i < 500 && strcmp(stat.comm, name); i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
		assert_int_equal(xp_target_stat(target, 0, &stat, &err), 0);
	}
	assert_string_equal(stat.comm, name);
	assert_int_equal(stat.ppid, getpid());
	assert_int_equal(stat.num_threads, 1);
	assert_true(stat.start_time == xp_target_identity(target)->process_start_time);
	assert_int_equal(xp_target_check(target, &err), 0);
	xp_target_close(target);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* A name cut inside a letter must come out as valid JSON that a strict parser accepts. */
static void cut_name_in_json(void **state)
{
	xp_auto_builder text = { 0 };
	struct xp_json json = { .out = &text };
	struct xp_stat stat;
	char why[128];

	assert_true(xp_stat_parse("1 (abcdefghijkl\xc3\xa9\xc3) S" TAIL, &stat));
	xp_json_begin(&json, '[');
	xp_json_str(&json, stat.comm);
	xp_json_end(&json, ']');
	json_t *value = xp_json_parse(text.data, text.len, why, sizeof(why));
	assert_non_null(value);
	assert_string_equal(json_string_value(json_array_get(value, 0)), "abcdefghijkl\xc3\xa9\xef\xbf\xbd");
	json_decref(value);
}

/* The CPU clock counts threads that have ended, and agrees with what the process itself reads. */
static void cpu_clock(void **state)
{
	struct xp_target *target;
	struct timespec own;
	xp_auto_err err = { 0 };
	uint64_t first, second;

	assert_int_equal(xp_target_open((uint32_t)getpid(), NULL, &target, &err), 0);
	assert_int_equal(xp_target_cpu_ns(target, &first, &err), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
	assert_int_equal(xp_target_cpu_ns(target, &second, &err), 0);
	uint64_t mine = (uint64_t)own.tv_sec * 1000000000u + (uint64_t)own.tv_nsec;
	assert_true(first <= mine && mine <= second);
	xp_target_close(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_names),    cmocka_unit_test(broken_lines), cmocka_unit_test(live_hostile_name),
		cmocka_unit_test(cut_name_in_json), cmocka_unit_test(cpu_clock),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
