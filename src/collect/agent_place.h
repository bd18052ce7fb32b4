/* SPDX-License-Identifier: Apache-2.0 */
/* The agent in the target: the one that is there, or brought there now (contract 6.9). */
#ifndef XP_COLLECT_AGENT_PLACE_H
#define XP_COLLECT_AGENT_PLACE_H

#include "engine/agent_link.h"

struct xp_agent_place {
	const char *agent_path; /* file to inject; NULL: none was found, then only an agent that is there will do */
	const char *tried;	/* places where the file was looked for, for the error */
	/* Called once, directly before the target is modified. NULL: nobody wants to know. */
	void (*before_change)(void *arg, uint32_t pid);
	void *arg;
};

/*
 * Opens the agent of the target, injecting it first when there is none of our control version. *ret_stall_ns: how long a thread stood
 * still for the injection; 0 and *ret_injected false when the agent was there. CUPTI_NOT_AVAILABLE: no agent file, or the injection failed.
 * Otherwise as xp_inject and xp_agent_link_open.
 */
int xp_agent_bring(struct xp_target *target, const struct xp_agent_place *place, struct xp_agent_link **ret_link, bool *ret_injected,
		   uint64_t *ret_stall_ns, struct xp_err *reterr);
/* The refusals of xp_agent_bring without touching the target; *ret_loaded: an agent of ours is there. */
int xp_agent_check(struct xp_target *target, const struct xp_agent_place *place, struct xp_arena *arena, bool *ret_loaded,
		   struct xp_err *reterr);

#endif
