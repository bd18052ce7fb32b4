/* SPDX-License-Identifier: Apache-2.0 */
/* The two CUDA sources of a triage: what refuses them before the target is touched, and what they did to it. */
#ifndef XP_CMD_TRIAGE_CUDA_H
#define XP_CMD_TRIAGE_CUDA_H

#include "cmd/command.h"
#include "cmd/triage_sources.h"
#include "inventory/cuda_window.h"

/*
 * Looks whether the agent can come and how; touches nothing. CUDA_CONTEXT_NOT_FOUND: libcuda is mapped, yet no device is in use. Else the
 * errors of xp_cupti_find and xp_agent_check.
 */
int xp_triage_cuda_check(struct xp_session *session, struct xp_target *target, struct xp_cuda_window *cuda, struct xp_err *reterr);
/*
 * A source that failed behind that check: what was found by it cannot be called absent any more. Copies fail for the reason for which the
 * capture that they share with the kernels did.
 */
void xp_triage_cuda_failed(struct xp_triage_source *sources, enum xp_source_id id);
/* Warnings about what was done to the target (contract 1.6); `cost` holds the effects. */
void xp_triage_cuda_warn(struct xp_session *session, const struct xp_cuda_window *cuda, const struct xp_cost *cost);

#endif
