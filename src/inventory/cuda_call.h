/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA calls that a stack may lie under, and what time under them means. */
#ifndef XP_INVENTORY_CUDA_CALL_H
#define XP_INVENTORY_CUDA_CALL_H

#include <stddef.h>
#include <stdint.h>

struct xp_frame;

enum xp_cuda_call_kind {
	XP_CUDA_WAIT,	/* returns when the device is done: time under it is waiting, whether the thread sleeps or spins */
	XP_CUDA_COPY,	/* an asynchronous copy; of pageable memory it is as synchronous as the others */
	XP_CUDA_LAUNCH, /* work, unless the queue is full */
	XP_CUDA_CALL_KINDS
};

/* Table entries; two equal calls are the same pointer. */
struct xp_cuda_call {
	const char *name; /* folded, as selectors have it */
	enum xp_cuda_call_kind kind;
};

/* The call that this function of a program is; NULL: none of these. `symbol` may be NULL. */
const struct xp_cuda_call *xp_cuda_call_of(const char *symbol);

/* Time of one thread under one call. A thread's uses come together, most first. */
struct xp_cuda_use {
	uint32_t tid;
	const char *thread_name;
	const struct xp_cuda_call *call;
	uint64_t amount;		      /* samples, or ns of blocks */
	const struct xp_frame *const *frames; /* leaf first: the stack that took most of it */
	size_t n_frames;
	uint64_t of_stack;	     /* what that stack took */
	const struct xp_frame *line; /* its innermost Python frame; NULL: none */
	uint64_t of_line;	     /* what all stacks with that one took */
};

/* Adds to the entry of (tid, call) in uses[0 .. *n), or makes it; there is room for one more. */
struct xp_cuda_use *xp_cuda_use_at(struct xp_cuda_use *uses, size_t *n, uint32_t tid, const struct xp_cuda_call *call);

#endif
