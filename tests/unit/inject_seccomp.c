/* SPDX-License-Identifier: Apache-2.0 */
/* The filter machine on programs of the shapes that libseccomp and hand-written filters have; and which waits are innocent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inject/seccomp.c"

#include <linux/futex.h>

static uint32_t answer(const struct sock_filter *code, size_t n, int nr, uint64_t arg2)
{
	struct seccomp_data data = { .nr = nr, .arch = AUDIT_ARCH_X86_64, .args = { 0, 0, arg2 } };

	return run(code, n, &data);
}

static void a_list_of_allowed_calls(void **state)
{
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, SYS_mmap, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 2, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 38),
		/* mmap: never writable and executable at once, kept in memory in between. */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_STMT(BPF_ST, 3),
		BPF_STMT(BPF_LDX | BPF_MEM, 3),
		BPF_STMT(BPF_LD | BPF_IMM, 0),
		BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 6),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 6, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	assert_int_equal(answer(code, XP_LEN(code), SYS_read, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(code, XP_LEN(code), SYS_memfd_create, 0), SECCOMP_RET_ERRNO | 38);
	assert_int_equal(answer(code, XP_LEN(code), SYS_mmap, 5), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(code, XP_LEN(code), SYS_mmap, 7), SECCOMP_RET_TRAP);
	assert_true(harmless(SECCOMP_RET_ALLOW) && harmless(SECCOMP_RET_LOG) && harmless(SECCOMP_RET_ERRNO | 38));
	assert_false(harmless(SECCOMP_RET_TRAP) || harmless(SECCOMP_RET_KILL_THREAD) || harmless(SECCOMP_RET_KILL_PROCESS) ||
		     harmless(SECCOMP_RET_USER_NOTIF) || harmless(SECCOMP_RET_TRACE));
}

static void damaged_programs_kill(void **state)
{
	const struct sock_filter outside[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4096), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	const struct sock_filter endless[] = { BPF_STMT(BPF_LD | BPF_IMM, 0) };
	const struct sock_filter by_zero[] = { BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	const struct sock_filter far[] = { BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };

	assert_int_equal(answer(outside, XP_LEN(outside), 0, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(answer(endless, XP_LEN(endless), 0, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(answer(by_zero, XP_LEN(by_zero), 0, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(answer(far, XP_LEN(far), 0, 0), SECCOMP_RET_KILL_PROCESS);
}

static void waits_that_are_innocent(void **state)
{
	const uint64_t lock[6] = { 4096, FUTEX_WAIT_PRIVATE, 2 }, condition[6] = { 4096, FUTEX_WAIT_BITSET_PRIVATE, 2 };
	const uint64_t wake[6] = { 4096, FUTEX_WAKE_PRIVATE, 1 }, for_ever[6] = { 3, 0, 1, UINT32_MAX }, timed[6] = { 3, 0, 1, 1000 };

	assert_int_equal(xp_inject_call_rank(SYS_futex, lock), 0);
	assert_int_equal(xp_inject_call_rank(SYS_futex, wake), 0);
	assert_true(xp_inject_call_rank(SYS_futex, condition) > 0);
	assert_true(xp_inject_call_rank(SYS_epoll_wait, for_ever) < xp_inject_call_rank(SYS_epoll_wait, timed));
	assert_int_equal(xp_inject_call_rank(SYS_mmap, lock), 0);
	assert_int_equal(xp_inject_call_rank(SYS_openat, lock), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_of_allowed_calls),
		cmocka_unit_test(damaged_programs_kill),
		cmocka_unit_test(waits_that_are_innocent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
