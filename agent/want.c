/* SPDX-License-Identifier: Apache-2.0 */
/* Which callback ids a capture listens on. In: the request's filters and CUPTI's own names. Out: the want table. Agent's thread, at ARM. */
#include "agent/gate.h"

#include <string.h>

#include "agent/work.h"

#include "src/event/api_name.h"

static const uint16_t driver_launches[] = {
	CUPTI_CB_LAUNCH_KERNEL, CUPTI_CB_LAUNCH_KERNEL_PTSZ, CUPTI_CB_LAUNCH_COOPERATIVE, CUPTI_CB_LAUNCH_COOPERATIVE_PTSZ,
	CUPTI_CB_GRAPH_LAUNCH,	CUPTI_CB_GRAPH_LAUNCH_PTSZ,  CUPTI_CB_LAUNCH_KERNEL_EX,	  CUPTI_CB_LAUNCH_KERNEL_EX_PTSZ,
};
/* What `@launch` stands for, by runtime call: the launches that a driver call does not stand for by the same id. */
static const uint16_t runtime_launches[] = { 13, 211, 213, 214, 269, 270, 311, 312, 430, 431, 505, 506 };

enum {
	N_DRIVER = sizeof(driver_launches) / sizeof(driver_launches[0]),
	N_RUNTIME = sizeof(runtime_launches) / sizeof(runtime_launches[0])
};

enum { MOST_UNKNOWN = 512 }; /* in a row: the end of a domain's ids */

static bool holds(const uint16_t *ids, unsigned n, uint32_t cbid)
{
	for (unsigned i = 0; i < n; i++)
		if (ids[i] == cbid)
			return true;
	return false;
}

static bool is_launch(uint32_t domain, uint32_t cbid)
{
	return domain == CUPTI_DOMAIN_DRIVER ? holds(driver_launches, N_DRIVER, cbid) : holds(runtime_launches, N_RUNTIME, cbid);
}

static bool wants_name(const struct xp_agent_filter *filter, uint32_t domain, uint32_t cbid, const char *folded, size_t len)
{
	if (filter->domain && filter->domain != domain)
		return false;
	if (filter->match == XP_AGENT_MATCH_LAUNCH)
		return is_launch(domain, cbid);
	return strlen(filter->name) == len && !memcmp(filter->name, folded, len);
}

static bool starts(const char *text, size_t len, const char *head)
{
	return len >= strlen(head) && !memcmp(text, head, strlen(head));
}

/* Which filters this id satisfies; sets what it is wanted for. */
static uint32_t look_at(uint32_t domain, uint32_t cbid, const char *name)
{
	const struct xp_agent_request *request = &xp_agent.request;
	uint16_t *want = &xp_agent.view.want[domain - 1][cbid];
	uint32_t satisfied = 0, filters;
	bool complete;
	size_t len;
	const char *folded = xp_api_fold(name, &len);

	for (unsigned i = 0; i < request->n_filters; i++) {
		const struct xp_agent_filter *filter = &request->filters[i];
		bool entry = filter->kind == XP_CAPTURE_API_ENTRY, exit = filter->kind == XP_CAPTURE_API_EXIT;

		if ((!entry && !exit) || !wants_name(filter, domain, cbid, folded, len))
			continue;
		*want |= entry ? WANT_ENTRY : WANT_EXIT;
		satisfied |= 1u << i;
	}
	if (satisfied)
		xp_agent.view.api_name[domain - 1][cbid] = xp_agent_name(name, &filters, &complete);
	if (xp_agent.view.graphs && (starts(folded, len, "cuGraphInstantiate") || starts(folded, len, "cudaGraphInstantiate")))
		*want |= WANT_INSTANTIATE;
	*want |= xp_agent_gate_want(domain, cbid, folded, len);
	if (xp_agent.view.graphs && starts(folded, len, "cuStreamBegin"))
		*want |= WANT_CAPTURE_BEGIN;
	if (xp_agent.view.graphs && starts(folded, len, "cuStreamEndCapture"))
		*want |= WANT_CAPTURE_END;
	return satisfied;
}

/* Ids are dense; how many there are depends on the version. */
static uint32_t look_at_domain(uint32_t domain)
{
	uint32_t satisfied = 0, unknown = 0;

	for (uint32_t cbid = 1; cbid < AGENT_CBIDS && unknown < MOST_UNKNOWN; cbid++) {
		const char *name = NULL;
		bool known = !XP_AGENT_CALL(callback_name(domain, cbid, &name)) && name;

		satisfied |= known ? look_at(domain, cbid, name) : 0;
		unknown = known ? 0 : unknown + 1;
	}
	return satisfied;
}

static void want_launches(void)
{
	for (unsigned i = 0; i < N_DRIVER; i++) {
		bool graph = driver_launches[i] == CUPTI_CB_GRAPH_LAUNCH || driver_launches[i] == CUPTI_CB_GRAPH_LAUNCH_PTSZ;

		xp_agent.view.want[0][driver_launches[i]] |= WANT_LAUNCH | (graph ? WANT_GRAPH : 0);
	}
}

/*
 * Launches are counted by their driver calls, which every way of launching ends in, whenever kernels are wanted. With copies or sets alone
 * no launch has a record, and the stop would wait for all of them.
 */
int xp_agent_want_apis(void)
{
	const struct xp_agent_request *request = &xp_agent.request;
	uint32_t satisfied = 0;

	memset(xp_agent.view.want, 0, sizeof(xp_agent.view.want));
	memset(xp_agent.view.api_name, 0, sizeof(xp_agent.view.api_name));
	if (request->flags & XP_AGENT_RECORDS_ONLY)
		return XP_AGENT_OK;
	if (xp_agent.view.graphs)
		want_launches();
	if (xp_agent.any_api || xp_agent.view.graphs || xp_agent.gate.on)
		satisfied = look_at_domain(CUPTI_DOMAIN_DRIVER) | look_at_domain(CUPTI_DOMAIN_RUNTIME);
	for (unsigned i = 0; i < request->n_filters; i++) {
		const struct xp_agent_filter *filter = &request->filters[i];

		if (filter->kind <= XP_CAPTURE_API_EXIT && !(satisfied & 1u << i))
			return xp_agent_say(XP_AGENT_UNKNOWN_API, "cuptiGetCallbackName", 0, filter->name);
	}
	return XP_AGENT_OK;
}
