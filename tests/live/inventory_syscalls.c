/* SPDX-License-Identifier: Apache-2.0 */
/* Counts, errors, unknown and 32-bit numbers, limits: prime numbers of calls against what the kernel summed up. */
#include "syscalls_run.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/stat.h>

#define TIMES(n) for (int i_ = 0; i_ < (n); i_++)

static char long_name[5000];

static void count_body(struct shared *shared)
{
	TIMES(1009) syscall(SYS_getppid);
	TIMES(997) syscall(SYS_close, -1);
	TIMES(101) syscall(SYS_lseek, shared->pipe[0], 0, SEEK_SET);
	TIMES(307) syscall(SYS_access, "/nonexistent/file", R_OK);
	TIMES(53) syscall(SYS_access, "/proc/self/stat/x", R_OK);
	TIMES(31) syscall(SYS_access, long_name, R_OK);
	TIMES(17) syscall(SYS_access, NULL, R_OK);
	TIMES(7) syscall(SYS_access, "/", R_OK);
	TIMES(13) syscall(9999);
}

static void test_counts(void **state)
{
	const struct xp_inventory_request request = { .name = "primes", .duration_ms = 1000 };
	struct run run;

	memset(long_name, 'a', sizeof(long_name) - 1);
	start(&run, NULL, count_body);
	open_window(&run, &request);
	finish_window(&run);

	const struct xp_syscall_collection *c = &run.value->collection;
	assert_int_equal(count_of(&run, SYS_getppid), 1009);
	assert_int_equal(count_of(&run, SYS_close), 997);
	assert_int_equal(errors_of(&run, SYS_close, "EBADF"), 997);
	assert_int_equal(errors_of(&run, SYS_lseek, "ESPIPE"), 101);
	assert_int_equal(count_of(&run, SYS_access), 307 + 53 + 31 + 17 + 7);
	assert_int_equal(errors_of(&run, SYS_access, "ENOENT"), 307);
	assert_int_equal(errors_of(&run, SYS_access, "ENOTDIR"), 53);
	assert_int_equal(errors_of(&run, SYS_access, "ENAMETOOLONG"), 31);
	assert_int_equal(errors_of(&run, SYS_access, "EFAULT"), 17);
	assert_int_equal(group_of(&run, SYS_access, false)->errors, 307 + 53 + 31 + 17);
	assert_int_equal(errors_of(&run, 9999, "ENOSYS"), 13);
	assert_null(group_of(&run, 9999, false)->syscall_name);
	assert_null(group_of(&run, 9999, false)->entry_selector_hint);
	assert_string_equal(group_of(&run, SYS_close, false)->exit_selector_hint, "syscall:close:exit");
	assert_int_equal(c->groups, 5);
	assert_int_equal(c->observed_entries, 1009 + 997 + 101 + 415 + 13);
	assert_int_equal(c->matched_exits, c->observed_entries);
	assert_int_equal(c->inflight_at_end + c->no_return_calls + c->dropped_aggregates + c->unmatched_exits + c->open_at_start, 0);
	assert_int_equal(c->completeness, XP_COMPLETE);
	assert_int_equal(run.value->quality.verdict, XP_GOOD);
	assert_int_equal(run.value->head.n_warnings, 0);
	assert_string_equal(run.value->inventory.name, "primes");
	end(&run);
}

/* x32 numbers keep their bit, so they are never folded onto 64-bit ones. */
static void x32_body(struct shared *shared)
{
	TIMES(11) syscall(0x40000000 | SYS_getppid);
	TIMES(3) syscall(SYS_getppid);
}

static void test_x32(void **state)
{
	const struct xp_inventory_request request = { 0 };
	struct run run;

	start(&run, NULL, x32_body);
	open_window(&run, &request);
	finish_window(&run);
	assert_int_equal(count_of(&run, SYS_getppid), 3);
	assert_int_equal(count_of(&run, 0x40000000 | SYS_getppid), 11);
	end(&run);
}

static void call_32(long nr)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(nr) : "memory", "r8", "r9", "r10", "r11");
}

static void compat_body(struct shared *shared)
{
	TIMES(11) call_32(20); /* getpid; 20 is writev in the 64-bit table */
	TIMES(5) syscall(SYS_getppid);
}

static bool kernel_has_compat(void)
{
	int status;
	pid_t child = fork();

	if (!child) {
		call_32(20);
		_exit(0);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status);
}

static void test_compat(void **state)
{
	const struct xp_inventory_request request = { 0 };
	struct run run;

	if (!kernel_has_compat()) {
		print_message("SKIP: this kernel has no 32-bit calls\n");
		skip();
	}
	start(&run, NULL, compat_body);
	open_window(&run, &request);
	finish_window(&run);
	const struct xp_syscall_group *group = group_of(&run, 20, true);
	assert_non_null(group);
	assert_int_equal(group->count, 11);
	assert_string_equal(group->syscall_name, "getpid");
	assert_null(group->entry_selector_hint);
	assert_null(group_of(&run, 20, false));
	assert_int_equal(count_of(&run, SYS_getppid), 5);
	end(&run);
}

static void groups_body(struct shared *shared)
{
	TIMES(11) syscall(SYS_getppid);
	TIMES(7) syscall(SYS_getuid);
	TIMES(5) syscall(SYS_getgid);
	TIMES(19) syscall(SYS_geteuid);
	TIMES(23) syscall(SYS_getegid);
	TIMES(2) syscall(SYS_getuid);
}

static void test_group_capacity(void **state)
{
	const struct xp_inventory_request request = { .max_groups = 3 };
	struct run run;

	start(&run, NULL, groups_body);
	open_window(&run, &request);
	finish_window(&run);
	const struct xp_syscall_collection *c = &run.value->collection;
	assert_int_equal(c->observed_entries, 67);
	assert_int_equal(c->dropped_aggregates, 19 + 23);
	assert_int_equal(c->matched_exits, 11 + 9 + 5);
	assert_int_equal(c->groups, 3);
	assert_true(c->table_utilization == 1.0);
	assert_int_equal(c->completeness, XP_INCOMPLETE);
	assert_int_equal(c->sources[0].dropped_reasons[0].n, 42);
	assert_string_equal(c->sources[0].dropped_reasons[0].name, "table_full");
	assert_int_equal(run.value->quality.verdict, XP_CAUTIOUS);
	assert_string_equal(run.value->quality.issues[0].code, "group_capacity");
	assert_int_equal(run.value->head.n_warnings, 2);
	end(&run);
}

/* A call that a seccomp filter refuses never reaches sys_enter: only its exit is seen. */
static void refuse_getppid(struct shared *shared)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = XP_LEN(code), .filter = code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(1);
}

static void refused_body(struct shared *shared)
{
	TIMES(3) syscall(SYS_getuid);
	TIMES(23) syscall(SYS_getppid);
}

static void test_unmatched(void **state)
{
	const struct xp_inventory_request request = { 0 };
	struct run run;

	start(&run, refuse_getppid, refused_body);
	open_window(&run, &request);
	finish_window(&run);
	assert_int_equal(run.value->collection.unmatched_exits, 23);
	assert_int_equal(run.value->collection.observed_entries, 3);
	assert_int_equal(run.value->collection.completeness, XP_INCOMPLETE);
	assert_string_equal(run.value->head.warnings[0].code, "SYSCALL_LIFECYCLES_UNMATCHED");
	end(&run);
}

/* The default document stays within 16 KiB however many groups there are, and says what it left out. */
static void many_body(struct shared *shared)
{
	TIMES(251) syscall(20000 + i_);
}

static void test_budget(void **state)
{
	const struct xp_inventory_request request = { .duration_ms = 1000 };
	struct run run;
	size_t len;

	start(&run, NULL, many_body);
	open_window(&run, &request);
	finish_window(&run);
	run.value->head.session_id = "xp_measure_1_00000000";
	assert_int_equal(run.value->inventory.n_groups, 251);
	do {
		xp_auto_builder text = { 0 };
		struct xp_json json = { .out = &text };

		xp_record_write(&json, &xp_syscalls_record, run.value, false);
		len = text.len;
	} while (len > 16384 && xp_syscalls_shrink(run.value));
	assert_true(len <= 16384);
	assert_true(len > 12000);
	assert_int_equal(run.value->collection.groups, 251);
	assert_int_equal(run.value->collection.groups_listed, run.value->inventory.n_groups);
	assert_true(run.value->inventory.n_groups < 251);
	end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),	       cmocka_unit_test(test_x32),	 cmocka_unit_test(test_compat),
		cmocka_unit_test(test_group_capacity), cmocka_unit_test(test_unmatched), cmocka_unit_test(test_budget),
	};
	int skipped = skip_reason();

	return skipped ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
