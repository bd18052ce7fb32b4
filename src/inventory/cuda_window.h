/* SPDX-License-Identifier: Apache-2.0 */
/* What the inventories `cuda_kernels` and `cuda_copies` of one process share: one agent, armed once for kernels, copies and sets. */
#ifndef XP_INVENTORY_CUDA_WINDOW_H
#define XP_INVENTORY_CUDA_WINDOW_H

#include "collect/agent_capture.h"
#include "collect/agent_place.h"

struct xp_gpu_activity;

/* Whoever asks for both fills the first half after looking whether the agent can come; the second half is theirs. */
struct xp_cuda_window {
	struct xp_agent_place place;
	struct xp_agent_options options;
	bool loaded; /* an agent of ours is in the target; kept true once it was brought */

	bool injected;
	uint64_t injection_stall_ns;
	struct xp_agent_facts facts;	   /* valid with `all` */
	const struct xp_gpu_activity *all; /* every group of the window; NULL: the capture did not come to its end */
};

/* Brings the agent where it is not yet, right before it is armed. Errors of xp_agent_bring. */
int xp_cuda_window_bring(struct xp_cuda_window *cuda, struct xp_target *target, struct xp_err *reterr);

#endif
