/* SPDX-License-Identifier: Apache-2.0 */
/* Which first instructions cost a second trap. The bytes are what an assembler makes of the text beside them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "arch/scratch.h"
#include "base/cleanup.h"

struct sample {
	uint8_t bytes[10];
	bool stepped;
};

static void first_instructions(void **state)
{
	static const struct sample samples[] = {
		{ { 0x90, 0xc3 }, false },		     /* nop */
		{ { 0x55, 0x48 }, false },		     /* push %rbp */
		{ { 0x41, 0x57 }, false },		     /* push %r15 */
		{ { 0xe8, 1, 0, 0, 0 }, false },	     /* call */
		{ { 0xe9, 1, 0, 0, 0 }, false },	     /* jmp */
		{ { 0xeb, 0x10 }, false },		     /* jmp short */
		{ { 0x74, 0x10 }, false },		     /* je */
		{ { 0x0f, 0x84, 1, 0, 0, 0 }, false },	     /* je near */
		{ { 0x0f, 0x1f, 0x40, 0x00 }, false },	     /* nopl 0(%rax) */
		{ { 0x66, 0x90 }, false },		     /* xchg %ax,%ax */
		{ { 0x66, 0x0f, 0x1f, 0x44, 0, 0 }, false }, /* nopw */
		{ { 0xc3, 0x90 }, true },		     /* ret */
		{ { 0x48, 0x89, 0xf8 }, true },		     /* mov %rdi,%rax */
		{ { 0x48, 0x83, 0xec, 0x08 }, true },	     /* sub $8,%rsp */
		{ { 0x31, 0xc0 }, true },		     /* xor %eax,%eax */
		{ { 0xf3, 0x0f, 0x1e, 0xfa }, true },	     /* endbr64 */
		{ { 0x66, 0x55 }, true },		     /* push %bp */
		{ { 0x41, 0x89, 0xf8 }, true },		     /* mov %edi,%r8d */
	};

	for (size_t i = 0; i < XP_LEN(samples); i++)
		assert_int_equal(xp_probe_is_stepped(samples[i].bytes, sizeof(samples[i].bytes)), samples[i].stepped);
	assert_true(xp_probe_is_stepped(samples[0].bytes, 0));
	assert_true(xp_probe_is_stepped(samples[2].bytes, 1));
}

static void scratches_are_what_they_say(void **state)
{
	for (int i = 0; i < XP_SCRATCH_COUNT; i++) {
		void (*function)(void) = xp_scratch_function((enum xp_scratch)i);

		function();
		assert_int_equal(xp_probe_is_stepped((const uint8_t *)(uintptr_t)function, 16), i == XP_SCRATCH_STEPPED);
		for (int j = 0; j < i; j++)
			assert_true(function != xp_scratch_function((enum xp_scratch)j));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_instructions),
		cmocka_unit_test(scratches_are_what_they_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
