/* SPDX-License-Identifier: Apache-2.0 */
/* The agent inside a program, hooking and unhooking one copy of the NVTX header as fast as it can. In: the copy. Out: what was recorded. */
#include "agent/nvtx.h"
#include "agent/work.h"

#include <string.h>

static int arm(void)
{
	struct xp_agent_request *request = &xp_agent.control->request;

	*request = (struct xp_agent_request){ .mode = XP_AGENT_EXACT, .n_filters = 2, .capacity = 1 << 16, .deadline_ns = AGENT_NS_PER_S };
	for (unsigned i = 0; i < 2; i++) {
		request->filters[i] = (struct xp_agent_filter){ .kind = XP_CAPTURE_NVTX_START + i, .match = XP_AGENT_MATCH_EXACT };
		strcpy(request->filters[i].name, "step");
	}
	xp_agent.control->lease.open_ns = 1;
	xp_agent.lease_ns = 0;
	return xp_agent_arm(1);
}

/* Records made or dropped while the copy was hooked `times` times; 0 when that did not work. */
__attribute__((visibility("default"))) uint64_t nvtx_toggle(uint64_t globals, uint64_t times);
uint64_t nvtx_toggle(uint64_t globals, uint64_t times)
{
	struct nvtx *nvtx = &xp_agent.nvtx;
	struct xp_agent_sites *sites;

	if (xprobe_agent_start())
		return 0;
	sites = (struct xp_agent_sites *)(xp_agent.memory + XP_AGENT_SITES_OFFSET);
	sites->sites[0] = globals;
	sites->n_sites = 1;
	if (arm() || xp_agent.control->nvtx.copies != 1)
		return 0;
	for (uint64_t i = 0; i < times; i++) {
		xp_agent_nvtx_unhook(&nvtx->copies[0]);
		if (!xp_agent_nvtx_hook(nvtx->copies[0].at))
			return 0;
	}
	xp_agent_stop();
	return xp_agent.control->counters.callback_records + xp_agent.control->counters.callback_dropped;
}
