/* SPDX-License-Identifier: Apache-2.0 */
/* Fault: fields looked up by name were found inside the process's own name; colons in a cgroup path cut it short. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "target/program.h"
#include "target/status.h"

static const char status_text[] =
	"Name:\ta\\nUid:\\t9 9 9 9 Seccomp:\t7\n"
	"Umask:\t0022\nState:\tT (stopped)\nTgid:\t97\nTracerPid:\t31\n"
	"Uid:\t2\t3\t5\t7\nGid:\t11\t13\t17\t19\nNSpid:\t97\t23\t1\nThreads:\t29\nSeccomp:\t2\nSeccomp_filters:\t1\n";

static void status_fields(void **state)
{
	struct xp_process_status s;

	assert_true(xp_status_parse(status_text, &s));
	assert_int_equal(s.state, 'T');
	assert_int_equal(s.uid[0] * 1000 + s.uid[1] * 100 + s.uid[2] * 10 + s.uid[3], 2357);
	assert_int_equal(s.gid[3], 19);
	assert_int_equal(s.tracer_pid, 31);
	assert_int_equal(s.threads, 29);
	assert_int_equal(s.seccomp, 2);
	assert_int_equal(s.n_ns_pid, 3);
	assert_int_equal(s.ns_pid[1], 23);
	assert_false(xp_status_parse("Name:\tx\nState:\tR (running)\nUid:\t1\t2\t3\n", &s));
	assert_false(xp_status_parse("", &s));
}

static void cgroup_lines(void **state)
{
	struct xp_arena *arena = xp_arena_new();
	char text[] = "12:cpu,cpuacct:/a:b/c\n1:name=systemd:/\nnonsense\n0::/x.slice";
	struct xp_cgroup_line *lines;
	size_t n;

	xp_cgroup_lines(text, arena, &lines, &n);
	assert_int_equal(n, 3);
	assert_int_equal(lines[0].hierarchy_id, 12);
	assert_int_equal(lines[0].n_controllers, 2);
	assert_string_equal(lines[0].controllers[1], "cpuacct");
	assert_string_equal(lines[0].path, "/a:b/c");
	assert_string_equal(lines[1].controllers[0], "name=systemd");
	assert_int_equal(lines[2].n_controllers, 0);
	assert_string_equal(lines[2].path, "/x.slice");
	xp_arena_free(arena);
}

static void own_program(void **state)
{
	struct xp_arena *arena = xp_arena_new();
	struct xp_target *target;
	struct xp_program program;
	struct xp_process_status s;
	xp_auto_err err = { 0 };
	char exe[4096] = "";
	const char **words;
	size_t n;

	assert_int_equal(xp_target_open((uint32_t)getpid(), NULL, &target, &err), 0);
	xp_program_read(target, arena, &program);
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_string_equal(program.executable, exe);
	assert_string_equal(program.machine, "x86_64");
	assert_int_equal(program.libc, XP_LIBC_GLIBC);
	assert_null(program.python_version);
	assert_true(program.n_libraries > 0);
	for (size_t i = 1; i < program.n_libraries; i++)
		assert_true(strcmp(program.libraries[i - 1], program.libraries[i]) < 0);
	assert_int_equal(xp_target_status(target, &s, &err), 0);
	assert_int_equal(s.uid[1], geteuid());
	assert_int_equal(s.ns_pid[0], getpid());
	assert_int_equal(xp_target_arguments(target, arena, &words, &n, &err), 0);
	assert_int_equal(n, 1);
	xp_target_close(target);
	xp_arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(status_fields), cmocka_unit_test(cgroup_lines),
					    cmocka_unit_test(own_program) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
