/* SPDX-License-Identifier: Apache-2.0 */
/* One machine instruction, as far as placing probes asks: where control goes, what it refers to, whether the kernel can probe it. */
#ifndef XP_ARCH_INSN_H
#define XP_ARCH_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum xp_flow {
	XP_FLOW_NEXT,	  /* goes on behind */
	XP_FLOW_CALL,	  /* goes on behind, or never comes back */
	XP_FLOW_BRANCH,	  /* conditional, to `target` or behind */
	XP_FLOW_JUMP,	  /* to `target` */
	XP_FLOW_INDIRECT, /* jump to an address out of a register or memory */
	XP_FLOW_RETURN,
	XP_FLOW_STOP, /* trap: nothing behind it runs */
};

struct xp_insn {
	uint64_t address;
	uint64_t target;     /* BRANCH, JUMP, direct CALL; else 0 */
	uint64_t reference;  /* address that an operand names: memory without base register, lea, large immediate; 0 = none */
	const char *refused; /* why no probe can sit here; NULL: it can */
	enum xp_flow flow;
	uint8_t size;
	bool reads_slot;     /* INDIRECT through one fixed slot (a GOT entry): leaves the function */
	bool reads_index;    /* memory operand with an index register */
	bool loads_distance; /* sign-extends 4 bytes from an indexed place: the first step of a switch */
	bool locked;	     /* has a lock prefix, which some C libraries jump over */
	bool notrack;	     /* compilers mark jumps through switch tables so */
	bool landing_pad;    /* endbr64 */
	bool nop;
	bool nop5;	      /* the 5-byte nop that kernels rewrite */
	bool compares_memory; /* cmp with a memory operand */
	uint8_t memory_base;  /* XP_INSN_R14 and the like: architecture's number + 1; 0 = none */
};

enum { XP_INSN_MAX_SIZE = 15, XP_INSN_GOROUTINE_BASE = 15 }; /* r14 + 1 */

/* Decodes one instruction; `size` bytes are readable. False when it is none. */
bool xp_insn_decode(const unsigned char *bytes, size_t size, uint64_t address, struct xp_insn *ret_insn);

#endif
