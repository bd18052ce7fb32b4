/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native stacks out of copied registers and stack bytes, by the .eh_frame rules of the mapped files (facts: no frame pointers are
 * needed). Rules are looked up lazily and cached; nothing is built when a file is opened. Reads files, never the running stack.
 */
#ifndef XP_ELF_UNWIND_H
#define XP_ELF_UNWIND_H

#include "target/target.h"

struct xp_unwinder;

struct xp_unwind_regs {
	uint64_t ip, sp, bp;
};

/* Bytes [sp, sp + len) of the stack, as they were when the registers were read. */
struct xp_stack_bytes {
	uint64_t sp;
	const void *bytes;
	size_t len;
};

enum xp_unwind_end {
	XP_UNWIND_WHOLE,  /* reached the outermost frame */
	XP_UNWIND_DEPTH,  /* max frames reached */
	XP_UNWIND_COPY,	  /* the next frame lies beyond the copied bytes */
	XP_UNWIND_FAILED, /* no rule, or a rule that cannot be followed, or a caller outside every executable mapping */
	XP_UNWIND_END_COUNT
};

struct xp_unwound {
	uint64_t *pcs; /* leaf first; caller frames hold the return address minus 1, except above a signal frame */
	uint64_t *sps; /* stack pointer of each frame (CFA of the callee), for merging with interpreter frames */
	size_t n;
	enum xp_unwind_end end;
};

/* Borrows the target; its maps are read again when a pc lies in none of them. Returns owned. */
int xp_unwinder_new(struct xp_target *target, struct xp_unwinder **ret_unwinder, struct xp_err *reterr);
void xp_unwinder_free(struct xp_unwinder *unwinder);
XP_DEFINE_AUTO(struct xp_unwinder *, xp_unwinder_free);

/* Fills `out->pcs` and `out->sps` (room for max each). Never fails as a call: how far it came is out->end. */
void xp_unwind(struct xp_unwinder *unwinder, const struct xp_unwind_regs *regs, const struct xp_stack_bytes *stack, size_t max,
	       struct xp_unwound *out);

/* Files that could not be read (replaced, deleted, unreadable), for NATIVE_MODULE_UNAVAILABLE; strings live as long as the unwinder. */
const char *const *xp_unwinder_missing(const struct xp_unwinder *unwinder, size_t *ret_n);

#endif
