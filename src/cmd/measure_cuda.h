/* SPDX-License-Identifier: Apache-2.0 */
/* What a measurement with CUDA endpoints needs beside the host's: the agent in the target, its options, and what it says afterwards. */
#ifndef XP_CMD_MEASURE_CUDA_H
#define XP_CMD_MEASURE_CUDA_H

#include "cmd/measure.h"
#include "cmd/measure_finish.h"
#include "collect/agent_exact.h"

/* True when an endpoint of the plan is collected by the agent. */
bool xp_plan_wants_agent(const struct xp_plan *plan);
/* What would refuse xp_cuda_prepare, as issues of the plan; touches nothing. Sets plan->agent_loaded. Nothing to do without CUDA endpoints.
 */
void xp_cuda_check(struct xp_session *session, struct xp_plan *plan);
/* The same whatever other issues the plan has, as a graph's has; only with a CUDA endpoint that resolved. */
void xp_cuda_check_target(struct xp_session *session, struct xp_plan *plan);
/*
 * Chooses libcupti, brings the agent (said on stderr before, as warning CUPTI_AGENT_INJECTED after), fills the options for a capture. Every
 * refusal that needs no change of the target comes first. *ret_stall_ms: the injection's stop; unset when the agent was there.
 */
int xp_cuda_prepare(struct xp_session *session, struct xp_target *target, uint64_t deadline_ms, struct xp_agent_options *ret_options,
		    struct xp_opt_f64 *ret_stall_ms, struct xp_err *reterr);
/* The same for a plan of which the agent collects something: one of NVTX ranges alone needs no CUPTI and no CUDA. */
int xp_agent_prepare(struct xp_session *session, const struct xp_plan *plan, struct xp_agent_options *ret_options,
		     struct xp_opt_f64 *ret_stall_ms, struct xp_err *reterr);
/* Accounts, facts and warnings of a finished capture into what the conclusion needs. window->cost gets stall and residual. */
void xp_cuda_conclude(struct xp_session *session, const struct xp_agent_facts *facts, struct xp_opt_f64 injection_stall_ms,
		      struct xp_window *window, struct xp_captured *captured);
/* Warnings CUPTI_AGENT_INJECTED; ARM_STALL, RESIDUAL_COST and PREDATES_ATTACH as far as the facts have them. */
void xp_cuda_warn_injected(struct xp_session *session, unsigned cuda_major, const char *agent_path, const char *cupti_path);
void xp_cuda_warn_effects(struct xp_session *session, const struct xp_agent_facts *facts);
/* torch.profiler may start at any time in a process that maps it. */
bool xp_cuda_maps_profiler(const struct xp_target *target);

#endif
