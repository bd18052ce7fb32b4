/* SPDX-License-Identifier: Apache-2.0 */
/* What a target's mappings say of CUDA, for the choice of its libcupti. */
#ifndef XP_ENGINE_CUPTI_FIND_PRIV_H
#define XP_ENGINE_CUPTI_FIND_PRIV_H

#include "target/target.h"

enum { XP_CUDA_OLDEST = 12, XP_CUDA_NEWEST = 13 };

struct xp_cuda_seen {
	bool driver;
	unsigned driver_major; /* newest CUDA that the mapped driver can run; 0: its name does not tell */
	const char *cudart[XP_CUDA_NEWEST + 1], *cupti[XP_CUDA_NEWEST + 1]; /* by major */
	unsigned other_major;						    /* of a libcudart that is not supported; 0: none */
};

/* Where several copies of one major are mapped: of libcupti the one that shares most of its path with libcudart. */
struct xp_cuda_seen xp_cuda_look(const struct xp_target *target);

#endif
