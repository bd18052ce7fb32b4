/* SPDX-License-Identifier: Apache-2.0 */
/* NVTX through the agent's shared memory: where the target's copies of the header are, which names its ranges have. */
#ifndef XP_ENGINE_AGENT_SITES_H
#define XP_ENGINE_AGENT_SITES_H

#include "engine/agent_link.h"

/* Looks through files of the target's maps that are not known yet; the agent sees new places at its next look. Wants the lease. */
void xp_agent_sites_update(struct xp_agent_link *link, struct xp_target *target);
/* Forgets places whose file has gone; only while the agent is idle. */
void xp_agent_sites_prune(struct xp_agent_link *link, struct xp_target *target);

/* A copy, exact once STOP is answered. */
struct xp_agent_nvtx xp_agent_link_nvtx(const struct xp_agent_link *link);
/* Text of a name that an NVTX record has; false: there is none under this id. */
bool xp_agent_link_nvtx_name(const struct xp_agent_link *link, uint32_t id, char ret_text[XP_AGENT_NVTX_TEXT], uint32_t *ret_length);

#endif
