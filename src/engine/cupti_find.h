/* SPDX-License-Identifier: Apache-2.0 */
/* Which libcupti the agent shall use in a target (contract 6.9). Looks at its mappings and at files in its view; touches nothing. */
#ifndef XP_ENGINE_CUPTI_FIND_H
#define XP_ENGINE_CUPTI_FIND_H

#include "target/target.h"

struct xp_cupti_choice {
	unsigned major;	  /* 12 or 13 */
	bool mapped;	  /* a copy is mapped already: it is used, path names it */
	const char *path; /* in the target's view; in the arena */
};

/*
 * The copy already mapped; else the one that belongs to the mapped libcudart's major (beside it in its toolkit or wheel); else the newest
 * in the usual places. cuda_major 0: from the target. CUDA_CONTEXT_NOT_FOUND: no libcuda mapped. AMBIGUOUS_TARGET: libcudart of two majors
 * mapped and no cuda_major. UNSUPPORTED_CUDA_VERSION: the mapped libcudart is neither 12 nor 13. CUPTI_NOT_AVAILABLE with the places tried.
 */
int xp_cupti_find(const struct xp_target *target, unsigned cuda_major, struct xp_arena *arena, struct xp_cupti_choice *ret_choice,
		  struct xp_err *reterr);

#endif
