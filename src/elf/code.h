/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions of one function: where probes may sit and by which instructions it is left. */
#ifndef XP_ELF_CODE_H
#define XP_ELF_CODE_H

#include "arch/insn.h"
#include "elf/symbols.h"

/* The instruction at an address; false when there is none or it is damaged. */
bool xp_code_insn(const struct xp_elf *elf, uint64_t vaddr, struct xp_insn *ret_insn);

/*
 * Where the entry probe of a function sits: behind endbr64; in Go code (`go`) behind the check that re-runs the function on a larger stack.
 * PROBE_REFUSED when the kernel or the target would not bear it.
 */
int xp_code_entry(const struct xp_elf *elf, const struct xp_extent *function, bool go, uint64_t *ret_vaddr, struct xp_err *reterr);
/* Checks that an address inside a function is an instruction boundary where a probe may sit. PROBE_REFUSED. */
int xp_code_check(const struct xp_elf *elf, const struct xp_extent *function, uint64_t vaddr, struct xp_err *reterr);

enum { XP_EXITS_MAX = 64 };
/*
 * Every instruction by which the function is left: returns and leaving jumps, of its cold parts too; ascending. PROBE_REFUSED when it
 * cannot be decoded completely, never returns, or has more than XP_EXITS_MAX.
 */
int xp_code_exits(const struct xp_elf *elf, const struct xp_extent *function, uint64_t ret_exits[XP_EXITS_MAX], size_t *ret_n,
		  struct xp_err *reterr);

#endif
