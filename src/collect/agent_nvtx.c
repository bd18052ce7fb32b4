/* SPDX-License-Identifier: Apache-2.0 */
/* NVTX ranges in the agent's exact capture: names by id, endpoints by the agent's filters, libraries that come during the window. */
#include "collect/agent_exact_priv.h"
#include "collect/window_priv.h"
#include "engine/agent_sites.h"

enum { FOLLOW_MS = 200 };

bool xp_agent_is_nvtx(uint32_t kind)
{
	return kind == XP_CAPTURE_NVTX_START || kind == XP_CAPTURE_NVTX_END;
}

uint32_t xp_agent_nvtx_name(const struct xp_agent_exact *exact, uint32_t id)
{
	char text[XP_AGENT_NVTX_TEXT];
	uint32_t length;

	return id && xp_agent_link_nvtx_name(exact->capture.link, id, text, &length) ? xp_store_intern(exact->store, text, length) : 0;
}

/* The agent has tried the patterns on the whole text, of which a record names at most 127 bytes. */
uint32_t xp_agent_nvtx_endpoints(const struct xp_agent_exact *exact, uint32_t filters, uint8_t type)
{
	uint32_t bits = 0;

	for (unsigned i = 0; i < exact->plan->n_endpoints; i++)
		if ((uint8_t)exact->plan->endpoints[i].type == type && exact->filter_of[i] >= 0 && filters >> exact->filter_of[i] & 1)
			bits |= 1u << i;
	return bits;
}

/* A library that was loaded since has a copy of the header that nobody has seen yet. */
void xp_agent_nvtx_follow(struct xp_agent_exact *exact)
{
	uint64_t now_ns = xp_window_now(), loads;
	xp_auto_err ignored = {};

	if (!exact->capture.wants_nvtx || now_ns < exact->next_follow_ns)
		return;
	exact->next_follow_ns = now_ns + FOLLOW_MS * XP_NS_PER_MS;
	loads = xp_agent_link_nvtx(exact->capture.link).loads;
	if (loads == exact->loads)
		return;
	exact->loads = loads;
	/* A target that has gone meanwhile is the window's business. */
	if (!xp_target_maps_refresh(exact->plan->target, &ignored))
		xp_agent_sites_update(exact->capture.link, exact->plan->target);
}
