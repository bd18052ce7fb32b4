/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of arch/injection.h, position independent, never run in this process. It uses no stack of the thread it runs in, touches
 * neither red zone nor vector state before it has a stack of its own, and sets no restart block (ppoll, not nanosleep), so that the
 * system call in which the thread was found can still be restarted by the kernel as if nothing had happened.
 */
#include "arch/injection.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

/* clang-format off */
__asm__(
"	.section .rodata.xp_injected, \"a\", @progbits\n"
"	.balign 16\n"
"xp_injected_begin:\n"
/* One system call, registers set from outside. Ends like everything else here. */
"	syscall\n"
"	jmp 5f\n"
/* r12: block, rsp: a stack of our own. rbx, r14: where errno is and what it was. */
"xp_injected_run:\n"
"	cld\n"
"	call *8(%r12)\n"
"	mov %rax, %rbx\n"
"	mov (%rax), %r14d\n"
"	lea 32(%r12), %r13\n"
"1:	mov (%r13), %r11\n"
"	mov 16(%r13), %rdi\n"
"	mov 24(%r13), %rsi\n"
"	mov 32(%r13), %rdx\n"
"	mov 40(%r13), %rcx\n"
"	mov 48(%r13), %r8\n"
"	mov 56(%r13), %r9\n"
"	mov %rcx, %r10\n"
"	xor %eax, %eax\n"
"	test %r11, %r11\n"
"	jz 2f\n"
"	call *%r11\n"
"	jmp 3f\n"
"2:	mov 8(%r13), %rax\n"
"	syscall\n"
"3:	mov %rax, 64(%r13)\n"
"	mov 112(%r13), %rcx\n"
"	mov %rax, (%rcx)\n"
"	mov 120(%r13), %rcx\n"
"	mov %rax, (%rcx)\n"
"	mov 128(%r13), %rcx\n"
"	mov %rax, (%rcx)\n"
"	and 72(%r13), %rax\n"
"	cmp 80(%r13), %rax\n"
"	sete %al\n"
"	xor 88(%r13), %al\n"
"	movzbl %al, %eax\n"
"	mov 96(%r13, %rax, 8), %r13\n"
"	test %r13, %r13\n"
"	jnz 1b\n"
"	mov %r14d, (%rbx)\n"
"	movq $1, (%r12)\n"
/* ppoll(NULL, 0, wait, NULL): somebody takes the thread out of here, or nobody is left. */
"	xor %edi, %edi\n"
"	xor %esi, %esi\n"
"	lea 16(%r12), %rdx\n"
"	xor %r10d, %r10d\n"
"	mov $271, %eax\n"
"	syscall\n"
"	mov $-1, %eax\n"
"	mov %eax, %edx\n"
"	xrstor64 2240(%r12)\n"
"	push xp_injected_table+136(%rip)\n"
"	popfq\n"
/* rt_sigprocmask(SIG_SETMASK, mask, NULL, 8), then every register; no instruction from here on changes the flags. */
"5:	mov $14, %eax\n"
"	mov $2, %edi\n"
"	lea xp_injected_table+144(%rip), %rsi\n"
"	mov $0, %edx\n"
"	mov $8, %r10d\n"
"	syscall\n"
"	mov xp_injected_table(%rip), %rax\n"
"	mov xp_injected_table+8(%rip), %rcx\n"
"	mov xp_injected_table+16(%rip), %rdx\n"
"	mov xp_injected_table+24(%rip), %rsi\n"
"	mov xp_injected_table+32(%rip), %rdi\n"
"	mov xp_injected_table+40(%rip), %r8\n"
"	mov xp_injected_table+48(%rip), %r9\n"
"	mov xp_injected_table+56(%rip), %r10\n"
"	mov xp_injected_table+64(%rip), %r11\n"
"	mov xp_injected_table+72(%rip), %rbx\n"
"	mov xp_injected_table+80(%rip), %rbp\n"
"	mov xp_injected_table+88(%rip), %r12\n"
"	mov xp_injected_table+96(%rip), %r13\n"
"	mov xp_injected_table+104(%rip), %r14\n"
"	mov xp_injected_table+112(%rip), %r15\n"
"	mov xp_injected_table+120(%rip), %rsp\n"
"	jmp *xp_injected_table+128(%rip)\n"
"	.balign 8\n"
"xp_injected_table:\n"
"	.fill 19, 8, 0\n"
"xp_injected_end:\n"
"	.previous\n");
/* clang-format on */

extern const unsigned char xp_injected_begin[] __attribute__((visibility("hidden")));
extern const unsigned char xp_injected_run[] __attribute__((visibility("hidden")));
extern const unsigned char xp_injected_table[] __attribute__((visibility("hidden")));
extern const unsigned char xp_injected_end[] __attribute__((visibility("hidden")));

static_assert(sizeof(struct xp_injection_table) == 19 * 8, "the code's table");
static_assert(offsetof(struct xp_injection_table, rip) == 128 && offsetof(struct xp_injection_table, flags) == 136 &&
		      offsetof(struct xp_injection_table, signal_mask) == 144,
	      "the code's table");
static_assert(offsetof(struct xp_injection_block, errno_location) == 8 && offsetof(struct xp_injection_block, wait) == 16 &&
		      offsetof(struct xp_injection_block, steps) == 32 && offsetof(struct xp_injection_block, vector) == 2240,
	      "the code's block");
static_assert(offsetof(struct xp_injection_step, args) == 16 && offsetof(struct xp_injection_step, result) == 64 &&
		      offsetof(struct xp_injection_step, mask) == 72 && offsetof(struct xp_injection_step, next) == 96 &&
		      offsetof(struct xp_injection_step, result_to) == 112 && sizeof(struct xp_injection_step) == 136,
	      "the code's steps");
static_assert(SYS_ppoll == 271 && SYS_rt_sigprocmask == 14, "the code's system calls");

/* Results that the kernel keeps for itself: include/linux/errno.h. */
enum { RESTART_SYS = -512, RESTART_NO_INTR = -513, RESTART_NO_HANDLER = -514, RESTART_BLOCK = -516, CALL_SIZE = 2, USER_CS = 0x33 };

size_t xp_injection_size(void)
{
	return (size_t)(xp_injected_end - xp_injected_begin);
}

void xp_injection_write(const struct xp_injection_table *table, unsigned char *bytes)
{
	memcpy(bytes, xp_injected_begin, xp_injection_size());
	memcpy(bytes + (xp_injected_table - xp_injected_begin), table, sizeof(*table));
}

void xp_injection_table_of(const struct user_regs_struct *regs, uint64_t signal_mask, struct xp_injection_table *ret_table)
{
	struct xp_injection_table t = {
		.rax = regs->rax,
		.rcx = regs->rcx,
		.rdx = regs->rdx,
		.rsi = regs->rsi,
		.rdi = regs->rdi,
		.r8 = regs->r8,
		.r9 = regs->r9,
		.r10 = regs->r10,
		.r11 = regs->r11,
		.rbx = regs->rbx,
		.rbp = regs->rbp,
		.r12 = regs->r12,
		.r13 = regs->r13,
		.r14 = regs->r14,
		.r15 = regs->r15,
		.rsp = regs->rsp,
		.rip = regs->rip,
		.flags = regs->eflags,
		.signal_mask = signal_mask,
	};

	if ((int64_t)regs->orig_rax >= 0) {
		int64_t result = (int64_t)regs->rax;
		bool block = result == RESTART_BLOCK;

		if (block || result == RESTART_SYS || result == RESTART_NO_INTR || result == RESTART_NO_HANDLER || result == -EINTR) {
			t.rax = block ? SYS_restart_syscall : regs->orig_rax;
			t.rip -= CALL_SIZE;
		}
	}
	*ret_table = t;
}

void xp_injection_call(struct user_regs_struct *regs, uint64_t code, uint64_t nr, const uint64_t args[6])
{
	regs->rip = code;
	regs->rax = nr;
	regs->orig_rax = UINT64_MAX; /* no system call to restart */
	regs->rdi = args[0];
	regs->rsi = args[1];
	regs->rdx = args[2];
	regs->r10 = args[3];
	regs->r8 = args[4];
	regs->r9 = args[5];
}

void xp_injection_run(struct user_regs_struct *regs, uint64_t code, uint64_t block, uint64_t stack_top)
{
	regs->rip = code + (uint64_t)(xp_injected_run - xp_injected_begin);
	regs->rax = 0;
	regs->orig_rax = UINT64_MAX;
	regs->r12 = block;
	regs->rsp = stack_top & ~UINT64_C(15);
	regs->rbp = 0;
}

bool xp_injection_in_call(const struct user_regs_struct *regs, bool *ret_in_call, long *ret_nr)
{
	*ret_in_call = (int64_t)regs->orig_rax >= 0;
	*ret_nr = (long)regs->orig_rax;
	return regs->cs == USER_CS;
}

bool xp_injection_cut_short(const struct user_regs_struct *regs)
{
	return (int64_t)regs->orig_rax >= 0 && (int64_t)regs->rax == -EINTR;
}

void xp_injection_call_again(struct user_regs_struct *regs)
{
	regs->rax = regs->orig_rax;
	regs->orig_rax = UINT64_MAX;
	regs->rip -= CALL_SIZE;
}

bool xp_injection_is_code(const unsigned char bytes[16])
{
	return !memcmp(bytes, xp_injected_begin, 16);
}

bool xp_injection_is_call(const unsigned char bytes[2])
{
	return bytes[0] == 0x0f && bytes[1] == 0x05;
}

bool xp_injection_is_signal_return(const unsigned char bytes[9])
{
	static const unsigned char restorer[9] = { 0x48, 0xc7, 0xc0, SYS_rt_sigreturn, 0, 0, 0, 0x0f, 0x05 };

	return !memcmp(bytes, restorer, sizeof(restorer));
}
