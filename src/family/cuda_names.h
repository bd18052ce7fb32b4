/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA API names in selectors: their shape, and which calls launch work. */
#ifndef XP_FAMILY_CUDA_NAMES_H
#define XP_FAMILY_CUDA_NAMES_H

#include "family/endpoint.h"

/* xp_api_fold as text of its own, in the arena. */
const char *xp_cuda_fold(struct xp_arena *arena, const char *name);
/* Is it shaped like a call of that domain: cudaName, or cuName? After folding. */
bool xp_cuda_well_formed(enum xp_api_domain domain, const char *folded);
/* Does that folded call launch kernels or graphs? "@launch" does. */
bool xp_cuda_launches(enum xp_api_domain domain, const char *folded);
/* Does an endpoint (API family) accept a call of this domain and folded name? "@launch" accepts every launching call. */
bool xp_cuda_api_matches(const struct xp_endpoint *ep, enum xp_api_domain domain, const char *folded);

#endif
