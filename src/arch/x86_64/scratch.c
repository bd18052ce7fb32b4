/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch functions in assembly, since a compiler may begin a function with anything; and which first instructions are emulated. No state.
 */
#include "arch/scratch.h"

#define SCRATCH(name, first, last)                                                                                            \
	__asm__(".pushsection .text\n\t.balign 32\n\t.globl " name "\n\t.hidden " name "\n\t.type " name ", @function\n" name \
		":\n\t" first "\n\t" last "\n\tret\n\t.size " name ", .-" name "\n\t.popsection")

SCRATCH("xp_scratch_emulated", "push %rbp", "pop %rbp");
SCRATCH("xp_scratch_stepped", "xor %eax, %eax", "xor %ecx, %ecx");
SCRATCH("xp_scratch_return", "push %rbp", "pop %rbp");

void xp_scratch_emulated(void) __attribute__((visibility("hidden")));
void xp_scratch_stepped(void) __attribute__((visibility("hidden")));
void xp_scratch_return(void) __attribute__((visibility("hidden")));

void (*xp_scratch_function(enum xp_scratch which))(void)
{
	static void (*const functions[XP_SCRATCH_COUNT])(void) = {
		[XP_SCRATCH_EMULATED] = xp_scratch_emulated,
		[XP_SCRATCH_STEPPED] = xp_scratch_stepped,
		[XP_SCRATCH_RETURN] = xp_scratch_return,
	};

	return functions[which];
}

/* What arch/x86/kernel/uprobes.c resumes without a single step: relative branches and calls, nops, pushes of a register. */
bool xp_probe_is_stepped(const uint8_t *bytes, size_t n)
{
	size_t i = 0;

	while (i < n && bytes[i] == 0x66) /* a longer nop; any other instruction with this prefix is stepped */
		i++;
	bool prefixed = i > 0;

	if (i + 1 >= n)
		return true;
	uint8_t op = bytes[i], next = bytes[i + 1];

	if (op == 0x90 || (op == 0x0f && next == 0x1f))
		return false;
	if (prefixed)
		return true;
	if (op == 0xe8 || op == 0xe9 || op == 0xeb || (op & 0xf0) == 0x70 || (op & 0xf8) == 0x50)
		return false;
	if (op == 0x41 && (next & 0xf8) == 0x50)
		return false;
	return !(op == 0x0f && (next & 0xf0) == 0x80);
}
