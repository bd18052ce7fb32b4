/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that runs inside a foreign thread and always finds back by itself: whoever moved the thread onto it may die at any moment. It is
 * copied whole to unused bytes behind the code of a mapped file, with a table of the registers to end with; what it does is data.
 */
#ifndef XP_ARCH_INJECTION_H
#define XP_ARCH_INJECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

/* Registers that the code ends with. Filled by xp_injection_table, read in the target. */
struct xp_injection_table {
	uint64_t rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11, rbx, rbp, r12, r13, r14, r15, rsp, rip, flags;
	uint64_t signal_mask;
};

/* One call. The code takes the steps one after the other, from steps[0] on, as `next` says, until that is 0. */
struct xp_injection_step {
	uint64_t call; /* address; 0: system call `nr` */
	uint64_t nr;
	uint64_t args[6];
	int64_t result;	       /* written by the code */
	uint64_t mask, value;  /* bad when (result & mask) == value */
	uint64_t inverted;     /* 1: bad when it differs */
	uint64_t next[2];      /* addresses: after a good, after a bad result; 0 ends */
	uint64_t result_to[3]; /* addresses that receive the result as well */
};

enum { XP_INJECTION_STEPS = 16 };

/* What the code works on, in memory of its own. Owned by the target's thread from the start on until `done`. */
struct xp_injection_block {
	uint64_t done;		 /* written last, by the code */
	uint64_t errno_location; /* function */
	uint64_t wait[2];	 /* struct timespec: how long to wait after `done` to be moved back; then it goes back by itself */
	struct xp_injection_step steps[XP_INJECTION_STEPS];
	uint64_t pad[4];
	unsigned char vector[] __attribute__((aligned(64))); /* XSAVE area, as PTRACE_GETREGSET gives it */
};

size_t xp_injection_size(void); /* of code and table */
/* Writes code and table into `bytes`, xp_injection_size() of them. */
void xp_injection_write(const struct xp_injection_table *table, unsigned char *bytes);
/*
 * What a thread that stopped with these registers goes on with when no tracer is there to let the kernel do it: a system call that the stop
 * has interrupted is made again.
 */
void xp_injection_table_of(const struct user_regs_struct *regs, uint64_t signal_mask, struct xp_injection_table *ret_table);
/* Registers to make one system call with, at the code's begin; afterwards it goes back by the table. */
void xp_injection_call(struct user_regs_struct *regs, uint64_t code, uint64_t nr, const uint64_t args[6]);
/* Registers to take the steps with. */
void xp_injection_run(struct user_regs_struct *regs, uint64_t code, uint64_t block, uint64_t stack_top);

/* False: not 64-bit code. *ret_in_call: it stands behind its system call instruction, with call *ret_nr interrupted or done. */
bool xp_injection_in_call(const struct user_regs_struct *regs, bool *ret_in_call, long *ret_nr);
/* The call ended with EINTR for the stop alone, which the kernel does not mend: make it again. */
bool xp_injection_cut_short(const struct user_regs_struct *regs);
void xp_injection_call_again(struct user_regs_struct *regs);
/* Begins this code: somebody was here, and may still be. */
bool xp_injection_is_code(const unsigned char bytes[16]);
/* Bytes of a system call instruction; of the function that signal handlers return to. */
bool xp_injection_is_call(const unsigned char bytes[2]);
bool xp_injection_is_signal_return(const unsigned char bytes[9]);

#endif
