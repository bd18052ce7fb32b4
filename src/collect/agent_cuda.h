/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's counters as `collection.cuda` (contract 15.1). */
#ifndef XP_COLLECT_AGENT_CUDA_H
#define XP_COLLECT_AGENT_CUDA_H

#include "collect/agent_capture.h"
#include "collect/cuda_account.h"

/* In the arena. */
struct xp_cuda_account *xp_agent_cuda_account(const struct xp_agent_facts *facts, struct xp_arena *arena);

#endif
