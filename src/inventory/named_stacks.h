/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Raw stacks with names: every address of the capture in one batch, interpreter frames merged in, equal frames kept once. Native frames are
 * equal when they lie in one function, Python frames when they are on one line of it. Text lives in the arena.
 */
#ifndef XP_INVENTORY_NAMED_STACKS_H
#define XP_INVENTORY_NAMED_STACKS_H

#include "inventory/cuda_call.h"
#include "inventory/raw_stacks.h"
#include "inventory/stack.h"

struct xp_arena;

/* words[first .. first + n): numbers of frames, leaf first. Same index as the raw stack. */
struct xp_named_stack {
	uint32_t first;
	uint32_t n;
	bool more;			      /* goes on beyond the depth that is kept */
	bool collector;			      /* under Python's garbage collector */
	bool interpreter_lock;		      /* waits for Python's global lock */
	const struct xp_cuda_call *cuda_call; /* outermost one that it lies under; NULL: none */
	bool page_fault;		      /* the kernel part handles a fault of user code, not of a call */
	const char *kernel_call; /* system call that the kernel part is inside of, as selectors name it; NULL: none, or not known */
};

struct xp_named_counts {
	uint64_t total, native, python, kernel, jit, unresolved; /* frames of all different stacks */
	bool deadline_reached, perf_map_python;
};

/* Tables grow with realloc and are released by xp_named_stacks_done; frames themselves live in the arena. */
struct xp_named_stacks {
	struct xp_arena *arena;
	struct xp_frame **frames; /* different ones */
	uint32_t *function_of;	  /* frame -> function */
	size_t n_frames, cap_frames, cap_function_of, n_functions;
	uint32_t *words;
	size_t n_words, cap_words;
	struct xp_named_stack *stacks;
	size_t n_stacks;
	struct xp_map frame_of, function_at, text_of;
	struct xp_named_counts counts;
	const char **missing; /* files that could not be opened or were replaced */
	size_t n_missing;
};

/*
 * Names all stacks within deadline_ns (CLOCK_MONOTONIC; behind it frames stay module+offset). depth: frames kept of each stack. Borrows
 * everything but the arena for the call only. Zero-initialise *out with arena set; release it also after a failure.
 */
int xp_named_stacks_build(struct xp_named_stacks *out, const struct xp_raw_stacks *raw, struct xp_target *target, uint64_t deadline_ns,
			  uint32_t depth, struct xp_err *reterr);
/* Its frames as a list in the arena; the frames themselves stay those of `stacks`. */
const struct xp_frame *const *xp_named_stack_frames(const struct xp_named_stacks *stacks, const struct xp_named_stack *stack,
						    struct xp_arena *arena);
/* Under a call that returns when a GPU is done: a thread that runs there spins. */
static inline bool xp_named_stack_waits(const struct xp_named_stack *stack)
{
	return stack->cuda_call && stack->cuda_call->kind == XP_CUDA_WAIT;
}
void xp_named_stacks_done(struct xp_named_stacks *stacks);

#endif
