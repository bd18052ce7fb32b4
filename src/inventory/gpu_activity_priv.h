/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's group table as a collector, for the inventories that read it. */
#ifndef XP_INVENTORY_GPU_ACTIVITY_PRIV_H
#define XP_INVENTORY_GPU_ACTIVITY_PRIV_H

#include "base/hash.h"
#include "collect/agent_capture.h"
#include "inventory/gpu_activity.h"
#include "inventory/inventory.h"

enum { XP_GPU_GROUPS = 4096 };

struct xp_gpu_state {
	const struct xp_inventory_request *request;
	struct xp_agent_capture capture;
	struct xp_arena *arena;
	struct xp_map names; /* id -> name */
};

extern const struct xp_collector_ops xp_gpu_ops; /* of a struct xp_gpu_state */
/* Groups, accounts and counts of a finished capture, all but the doubts. */
struct xp_gpu_activity *xp_gpu_value(struct xp_gpu_state *state, const struct xp_window *window, const struct xp_agent_facts *facts,
				     struct xp_arena *arena);
void xp_gpu_state_free(void *state);
/* EVENTS_DROPPED, EVENT_RATE_TOO_HIGH, TRACE_EXPORT_FAILED, COLLECTION_DEAD: what makes groups useless (contract 6.5). */
int xp_gpu_check(const struct xp_gpu_activity *value, const struct xp_agent_facts *facts, struct xp_err *reterr);

#endif
