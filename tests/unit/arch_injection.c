/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread goes on with when its tracer dies: interrupted calls are made again, finished ones are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "arch/injection.h"

static struct xp_injection_table after(uint64_t nr, int64_t result)
{
	struct user_regs_struct regs = { .orig_rax = nr, .rax = (uint64_t)result, .rip = 1009, .rbx = 7, .rsp = 4093, .eflags = 0x246 };
	struct xp_injection_table table;

	xp_injection_table_of(&regs, 0x5a5a, &table);
	assert_int_equal(table.rbx, 7);
	assert_int_equal(table.rsp, 4093);
	assert_int_equal(table.flags, 0x246);
	assert_int_equal(table.signal_mask, 0x5a5a);
	return table;
}

static void interrupted_calls_are_made_again(void **state)
{
	static const int results[] = { -512, -513, -514, -EINTR };

	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
		assert_int_equal(after(SYS_read, results[i]).rax, SYS_read);
		assert_int_equal(after(SYS_read, results[i]).rip, 1007);
	}
	assert_int_equal(after(SYS_poll, -516).rax, SYS_restart_syscall);
	assert_int_equal(after(SYS_poll, -516).rip, 1007);
}

static void finished_calls_keep_their_result(void **state)
{
	assert_int_equal(after(SYS_read, 17).rax, 17);
	assert_int_equal(after(SYS_read, 17).rip, 1009);
	assert_int_equal(after(SYS_read, -EAGAIN).rip, 1009);
	/* Not in a call: a value that looks like a restart is the program's own. */
	assert_int_equal(after(UINT64_MAX, -512).rip, 1009);
	assert_int_equal((int64_t)after(UINT64_MAX, -512).rax, -512);
}

static void the_code_carries_its_table(void **state)
{
	struct xp_injection_table table = { .rax = 0x1122334455667788, .signal_mask = 0x99aabbccddeeff00 };
	unsigned char *bytes = malloc(xp_injection_size());

	xp_injection_write(&table, bytes);
	assert_true(xp_injection_is_call(bytes));
	assert_true(xp_injection_is_code(bytes));
	assert_memory_equal(bytes + xp_injection_size() - sizeof(table), &table, sizeof(table));
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interrupted_calls_are_made_again),
		cmocka_unit_test(finished_calls_keep_their_result),
		cmocka_unit_test(the_code_carries_its_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
