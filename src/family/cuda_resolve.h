/* SPDX-License-Identifier: Apache-2.0 */
/* What every CUDA family asks of a target: the driver mapped, and an agent that can collect. */
#ifndef XP_FAMILY_CUDA_RESOLVE_H
#define XP_FAMILY_CUDA_RESOLVE_H

#include "family/family.h"

/* CUDA_CONTEXT_NOT_FOUND: the target maps no libcuda. CUPTI_NOT_AVAILABLE: this build has no agent library to collect with. */
int xp_cuda_resolve(struct xp_endpoint *ep, struct xp_target *target, const struct xp_resolve_options *options, struct xp_arena *arena,
		    struct xp_err *reterr);

#endif
