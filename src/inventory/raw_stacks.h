/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks as samples bring them, each kept once: kernel and user addresses and interpreter frames by number. Unwound while the window runs,
 * named after it. Memory is bounded by XP_RAW_WORDS_MAX; what finds no room is refused and counted by the caller.
 */
#ifndef XP_INVENTORY_RAW_STACKS_H
#define XP_INVENTORY_RAW_STACKS_H

#include "base/hash.h"
#include "elf/python.h"
#include "elf/unwind.h"

enum { XP_RAW_WORDS_MAX = 32 * 1024 * 1024, XP_RAW_DEPTH_MAX = 2048 };

/* words[first]: n_kernel and n_native numbers of addresses (leaf first), then n_python numbers of interpreter frames (leaf first). */
struct xp_raw_stack {
	uint32_t first;
	uint16_t n_kernel, n_native, n_python;
	uint8_t end;	/* enum xp_unwind_end of the native part */
	uint8_t python; /* XP_PYTHON_* of the interpreter's part */
	uint16_t call;	/* number + 1 of the system call that it interrupted; 0: none, or not known */
};

/* Zero-initialised with unwinder, python and depth set; release with xp_raw_stacks_done. */
struct xp_raw_stacks {
	struct xp_unwinder *unwinder; /* borrowed; NULL: only the leaf of the native part */
	struct xp_python *python;     /* borrowed; NULL or inactive: no interpreter frames */
	uint32_t depth;		      /* native frames to follow, at most XP_RAW_DEPTH_MAX */
	struct xp_map address_of, frame_of, stack_of;
	uint64_t *addresses;		/* different ones */
	struct xp_python_frame *frames; /* different ones; texts are the python's */
	uint32_t *words;
	struct xp_raw_stack *stacks;
	size_t n_addresses, cap_addresses, n_frames, cap_frames, n_words, cap_words, n_stacks, cap_stacks;
	uint64_t *pcs, *sps;	      /* room for one unwinding */
	struct xp_python_frame *read; /* room for one stack's */
};

int xp_raw_stacks_init(struct xp_raw_stacks *stacks, struct xp_err *reterr);
void xp_raw_stacks_done(struct xp_raw_stacks *stacks);

/* What a record carries, checked against its size. False: damaged. */
struct xp_sample_parts {
	const uint64_t *kernel;
	const struct xp_rec_python_frame *python;
	const unsigned char *stack;
};
bool xp_sample_split(const struct xp_rec_sample *sample, struct xp_sample_parts *ret_parts);

/*
 * Unwinds the sample and finds or keeps its stack; *ret_stack indexes `stacks`. False: no room any more. Interpreter frames are read now,
 * while their code objects are likely to be alive; where one can't be, the stack's part is dropped and marked XP_PYTHON_TORN.
 */
bool xp_raw_stacks_take(struct xp_raw_stacks *stacks, const struct xp_rec_sample *sample, const struct xp_sample_parts *parts,
			uint32_t *ret_stack);

#endif
