/* SPDX-License-Identifier: Apache-2.0 */
/* A command to the agent and its answer, waited for within a bound while the lease is renewed. */
#ifndef XP_COLLECT_AGENT_COMMAND_H
#define XP_COLLECT_AGENT_COMMAND_H

#include "engine/agent_link.h"

enum { XP_AGENT_ARM_MS = 2000, XP_AGENT_STOP_MS = 4500 };

/*
 * Arms with `request`. Not answered in XP_AGENT_ARM_MS: given up, SESSION_LIMIT_EXCEEDED with call cuptiSubscribe; the agent undoes it as
 * soon as it gets through. A signal: CANCELLED. Otherwise as xp_agent_link_result.
 */
int xp_agent_arm(struct xp_agent_link *link, const struct xp_agent_request *request, struct xp_err *reterr);
/* Stops collection and waits until the last records are there. CLEANUP_FAILED when it is not answered in XP_AGENT_STOP_MS. */
int xp_agent_stop(struct xp_agent_link *link, struct xp_err *reterr);

#endif
