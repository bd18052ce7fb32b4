/* SPDX-License-Identifier: Apache-2.0 */
/* Entry sites and instruction boundaries. In: an image and a function's extent. Out: addresses or PROBE_REFUSED. No state. */
#include "elf/code.h"

#include "elf/eh_frame.h"

bool xp_code_insn(const struct xp_elf *elf, uint64_t vaddr, struct xp_insn *ret_insn)
{
	struct xp_reader bytes = xp_elf_reader(elf, vaddr);
	size_t left = bytes.bad ? 0 : (size_t)(bytes.end - bytes.at);

	return left && xp_insn_decode(bytes.at, left < XP_INSN_MAX_SIZE ? left : XP_INSN_MAX_SIZE, vaddr, ret_insn);
}

static int refuse(struct xp_err *reterr, uint64_t vaddr, const char *why)
{
	return xp_fail(reterr, XP_E_PROBE_REFUSED, "the instruction at address 0x%lx %s; no probe can sit there", (unsigned long)vaddr,
		       why);
}

static bool inside(const struct xp_extent *function, uint64_t vaddr)
{
	return vaddr >= function->start && vaddr - function->start < function->size;
}

enum { PROLOGUE_MAX = 8, REGROW_MAX = 64 };

/* From `vaddr` on: spills, a call (to runtime.morestack), reloads, and a jump back to the function's start. */
static bool regrows(const struct xp_elf *elf, const struct xp_extent *function, uint64_t vaddr)
{
	struct xp_insn insn;
	bool called = false;

	for (int i = 0; i < REGROW_MAX && inside(function, vaddr) && xp_code_insn(elf, vaddr, &insn); i++, vaddr += insn.size) {
		if (insn.flow == XP_FLOW_CALL)
			called = true;
		else if (insn.flow == XP_FLOW_JUMP)
			return called && insn.target == function->start;
		else if (insn.flow != XP_FLOW_NEXT)
			return false;
	}
	return false;
}

/*
 * A Go function compares the stack pointer with the limit that r14 (the goroutine) knows, and on overflow grows the stack and begins again.
 * A probe at its first instruction would count such a call twice; behind the check registers and stack pointer are the same, and it counts
 * once.
 */
static uint64_t behind_stack_check(const struct xp_elf *elf, const struct xp_extent *function)
{
	uint64_t vaddr = function->start;
	struct xp_insn insn;
	bool compared = false;

	for (int i = 0; i < PROLOGUE_MAX && inside(function, vaddr) && xp_code_insn(elf, vaddr, &insn); i++, vaddr += insn.size) {
		if (insn.compares_memory && insn.memory_base == XP_INSN_GOROUTINE_BASE)
			compared = true;
		else if (insn.flow == XP_FLOW_BRANCH && insn.target > vaddr && inside(function, insn.target)) {
			if (compared && regrows(elf, function, insn.target))
				return vaddr + insn.size;
		} else if (insn.flow != XP_FLOW_NEXT)
			break;
	}
	return function->start;
}

int xp_code_entry(const struct xp_elf *elf, const struct xp_extent *function, bool go, uint64_t *ret_vaddr, struct xp_err *reterr)
{
	uint64_t vaddr = go ? behind_stack_check(elf, function) : function->start;
	struct xp_insn first, second;

	if (!xp_code_insn(elf, vaddr, &first))
		return refuse(reterr, vaddr, "is not a valid one");
	if (first.refused)
		return refuse(reterr, vaddr, first.refused);
	if (vaddr != function->start && first.nop5)
		vaddr = function->start;
	/* endbr64 is single-stepped, what comes behind it mostly is not; but not every instruction bears a probe. */
	uint64_t behind = vaddr + first.size;
	if (first.landing_pad && inside(function, behind) && xp_code_insn(elf, behind, &second) && !second.refused)
		vaddr = behind;
	*ret_vaddr = vaddr;
	return 0;
}

int xp_code_check(const struct xp_elf *elf, const struct xp_extent *function, uint64_t vaddr, struct xp_err *reterr)
{
	uint64_t at = function->start;
	struct xp_insn insn = { 0 };

	for (; at < vaddr; at += insn.size)
		if (!xp_code_insn(elf, at, &insn))
			return refuse(reterr, at, "cannot be decoded, so the boundaries behind it are not known");
	if (at != vaddr)
		return xp_fail(reterr, XP_E_PROBE_REFUSED,
			       "address 0x%lx lies in the middle of an instruction (boundaries are 0x%lx and 0x%lx)", (unsigned long)vaddr,
			       (unsigned long)(at - insn.size), (unsigned long)at);
	if (!xp_code_insn(elf, vaddr, &insn))
		return refuse(reterr, vaddr, "is not a valid one");
	if (insn.refused)
		return refuse(reterr, vaddr, insn.refused);
	/* Some kernels turn it into a call, which overwrites what a leaf function keeps below its stack pointer. */
	if (insn.nop5)
		return refuse(reterr, vaddr, "is a 5-byte nop inside a function, which kernels rewrite into a call");
	return 0;
}
