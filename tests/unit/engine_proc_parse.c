// SPDX-License-Identifier: Apache-2.0
/* Parsers of /proc text, hostile names included (case A1). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "engine/proc_parse.h"

static void stat_survives_hostile_names(void **state)
{
	struct xp_proc_stat stat = { 0 };

	assert_true(xp_parse_proc_stat("71 (a) S 1\n(b\xc3\xa9) R 13 71 71 0 -1 4194304 5 6 7 8 9 10 11 17 20 0 3 0 8812345 0 0", &stat));
	assert_string_equal(stat.comm, "a) S 1\n(b\xc3\xa9");
	assert_int_equal(stat.state, 'R');
	assert_int_equal(stat.ppid, 13);
	assert_int_equal(stat.major_faults, 7);
	assert_int_equal(stat.child_ticks, 11 + 17);
	assert_int_equal(stat.start_ticks, 8812345);
}

static void broken_text_is_told(void **state)
{
	struct xp_proc_stat stat;
	struct xp_schedstat sched;

	assert_false(xp_parse_proc_stat("", &stat));
	assert_false(xp_parse_proc_stat("71 (a", &stat));
	assert_false(xp_parse_proc_stat("71 (a)", &stat));
	assert_false(xp_parse_proc_stat("71 (a) R 1 2 3", &stat));
	assert_false(xp_parse_schedstat("12 13", &sched));
	assert_false(xp_parse_schedstat("x", &sched));
	assert_true(xp_parse_schedstat("12 13 17\n", &sched));
	assert_int_equal(sched.cpu_ns, 12);
	assert_int_equal(sched.wait_ns, 13);
	assert_int_equal(sched.slices, 17);
}

static void status_keys_are_whole_words(void **state)
{
	struct xp_proc_status status = { .voluntary = 5 };

	xp_parse_proc_status("Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-3,8\nvoluntary_ctxt_switches:\t101\n"
			     "nonvoluntary_ctxt_switches:\t103\n",
			     &status);
	assert_int_equal(status.voluntary, 101);
	assert_int_equal(status.involuntary, 103);
	assert_string_equal(status.cpus_allowed, "0-3,8");
	xp_parse_proc_status("Name:\tx\n", &status);
	assert_int_equal(status.voluntary, 101);
}

static void cpu_lists_count(void **state)
{
	assert_int_equal(xp_cpu_list_count("0-3,8"), 5);
	assert_int_equal(xp_cpu_list_count("7"), 1);
	assert_int_equal(xp_cpu_list_count(""), 0);
	assert_int_equal(xp_cpu_list_count("3-1"), 0);
	assert_int_equal(xp_cpu_list_count("0-"), 0);
	assert_int_equal(xp_cpu_list_count("a"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stat_survives_hostile_names),
		cmocka_unit_test(broken_text_is_told),
		cmocka_unit_test(status_keys_are_whole_words),
		cmocka_unit_test(cpu_lists_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
