/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of BPF calls, and the namespace level as the kernel tells it, in the tool's own and in a nested PID namespace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/engine/bpf_common.c"

static void codes_follow_errno(void **state)
{
	xp_auto_err err = {};

	xp_bpf_init();
	assert_int_equal(xp_bpf_fail(&err, EPERM, "bpf(BPF_PROG_LOAD)", "probe"), -XP_E_PERMISSION_DENIED);
	assert_string_equal(err.errno_text, "EPERM");
	assert_string_equal(err.call, "bpf(BPF_PROG_LOAD)");
	assert_int_equal(xp_bpf_fail(&err, KERNEL_ENOTSUPP, "bpf(BPF_LINK_CREATE)", "uprobe:x:f:entry"), -XP_E_PROBE_REFUSED);
	assert_string_equal(err.errno_text, "ENOTSUPP");
	assert_string_equal(err.object, "uprobe:x:f:entry");
	assert_int_equal(xp_bpf_fail(&err, EMFILE, "bpf(BPF_MAP_CREATE)", "ring"), -XP_E_RESOURCE_LIMIT);
	assert_int_equal(xp_bpf_fail(&err, ESRCH, "bpf(BPF_LINK_CREATE)", "x"), -XP_E_TARGET_EXITED);
	assert_int_equal(xp_bpf_fail(&err, EINVAL, "bpf(BPF_LINK_CREATE)", "x"), -XP_E_INTERNAL);
}

/* Level told by BPF in a process that lives `depth` PID namespaces below this one; -1 when it could not be told. */
static int level_below(int depth)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		uint32_t level = 0;
		xp_auto_err err = {};

		if (depth > 0) {
			if (unshare(CLONE_NEWPID))
				_exit(255);
			int inner = level_below(depth - 1);
			_exit(inner < 0 ? 255 : inner);
		}
		_exit(run_level(&level, &err) ? 255 : (int)level);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) == 255)
		return -1;
	return WEXITSTATUS(status);
}

static void level_counts_namespaces(void **state)
{
	uint32_t here, quick;
	xp_auto_err err = {};

	if (run_level(&here, &err)) {
		print_message("SKIP: %s\n", err.message);
		skip();
	}
	assert_int_equal(level_below(0), here);
	assert_int_equal(level_below(2), here + 2);
	assert_int_equal(xp_bpf_ns_level(&quick, &err), 0);
	assert_int_equal(quick, here);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codes_follow_errno),
		cmocka_unit_test(level_counts_namespaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
