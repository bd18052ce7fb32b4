/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of loading and the memory in the target that holds them. */
#ifndef XP_INJECT_LOAD_PRIV_H
#define XP_INJECT_LOAD_PRIV_H

#include <inttypes.h>

#include "arch/injection.h"
#include "inject/inject_priv.h"

/* In the order in which they run when all goes well; from ERROR on, what undoes. */
enum xp_step {
	XP_STEP_IMAGE,	 /* memfd_create */
	XP_STEP_WRITE,	 /* the library into it */
	XP_STEP_CONTROL, /* memfd_create */
	XP_STEP_SIZE,	 /* ftruncate */
	XP_STEP_FORMAT,	 /* snprintf of the path that names the image */
	XP_STEP_LOAD,	 /* dlopen */
	XP_STEP_FIND,	 /* dlsym */
	XP_STEP_ENTRY,
	XP_STEP_ERROR,	/* dlerror */
	XP_STEP_UNLOAD, /* dlclose */
	XP_STEP_DROP,	/* close the control memory */
	XP_STEP_CLOSE,	/* close the image, in every case */
	XP_STEP_COUNT
};

/* One mapping: a stack, then the block, texts and the image. */
struct xp_inject_layout {
	uint64_t size, used;   /* of the mapping; of the bytes from the block on */
	uint64_t texts, image; /* offsets from the block */
	uint64_t base, block;  /* addresses; 0: not mapped */
};
void xp_inject_layout_of(struct xp_inject_layout *layout, const struct xp_inject_request *request, size_t vector_size);
void xp_inject_layout_at(struct xp_inject_layout *layout, uint64_t base);
uint64_t xp_inject_step_at(const struct xp_inject_layout *layout, int step);
/* layout->used bytes to be written at layout->block; malloc, NULL: no memory. */
void *xp_inject_block(const struct xp_inject_layout *layout, const struct xp_inject_places *places, const struct xp_inject_request *request,
		      const struct xp_tracee *tracee);
/* Judges the steps that were taken. The thread is stopped, its memory still mapped. */
int xp_inject_outcome(const struct xp_inject_layout *layout, const struct xp_injection_step *steps, const struct xp_inject_request *request,
		      const struct xp_tracee *tracee, struct xp_inject_result *ret_result, struct xp_err *reterr);

#endif
