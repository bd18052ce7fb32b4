/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA endpoints of a plan -> the agent's filters. What it cannot decide (full expressions, function names) it lets pass. No state. */
#include <stdio.h>
#include <string.h>

#include "collect/agent_exact_priv.h"

static const uint8_t kinds[XP_EV_TYPE_COUNT] = {
	[XP_EV_CUDA_API_ENTRY] = XP_CAPTURE_API_ENTRY,	    [XP_EV_CUDA_API_EXIT] = XP_CAPTURE_API_EXIT,
	[XP_EV_GPU_KERNEL_START] = XP_CAPTURE_KERNEL_START, [XP_EV_GPU_KERNEL_END] = XP_CAPTURE_KERNEL_END,
	[XP_EV_GPU_MEMCPY_START] = XP_CAPTURE_MEMCPY_START, [XP_EV_GPU_MEMCPY_END] = XP_CAPTURE_MEMCPY_END,
	[XP_EV_GPU_MEMSET_START] = XP_CAPTURE_MEMSET_START, [XP_EV_GPU_MEMSET_END] = XP_CAPTURE_MEMSET_END,
	[XP_EV_NVTX_RANGE_START] = XP_CAPTURE_NVTX_START,   [XP_EV_NVTX_RANGE_END] = XP_CAPTURE_NVTX_END,
};

bool xp_agent_serves(const struct xp_endpoint *endpoint)
{
	return kinds[endpoint->type] != 0;
}

static uint32_t match_of(const struct xp_endpoint *endpoint)
{
	static const uint32_t matches[] = {
		[XP_MATCH_ANY] = XP_AGENT_MATCH_ANY,	       [XP_MATCH_EXACT] = XP_AGENT_MATCH_EXACT,
		[XP_MATCH_PREFIX] = XP_AGENT_MATCH_PREFIX,     [XP_MATCH_SUFFIX] = XP_AGENT_MATCH_SUFFIX,
		[XP_MATCH_CONTAINS] = XP_AGENT_MATCH_CONTAINS, [XP_MATCH_REGEX] = XP_AGENT_MATCH_ANY,
	};

	return !endpoint->cuda.pattern || endpoint->cuda.on_function ? XP_AGENT_MATCH_ANY : matches[endpoint->cuda.match];
}

/* CUPTI's numbers of the directions that selectors name. */
static uint32_t copy_kind_of(const struct xp_endpoint *endpoint)
{
	static const uint32_t numbers[XP_COPY_KIND_COUNT] = {
		[XP_COPY_HTOD] = 1, [XP_COPY_DTOH] = 2, [XP_COPY_DTOD] = 8, [XP_COPY_HTOH] = 9, [XP_COPY_PTOP] = 10,
	};

	return endpoint->cuda.memcpy_kind < 0 ? XP_AGENT_ANY_COPY : numbers[endpoint->cuda.memcpy_kind];
}

static struct xp_agent_filter filter_of(const struct xp_endpoint *endpoint)
{
	struct xp_agent_filter filter = { .kind = kinds[endpoint->type], .domain = endpoint->cuda.domain };

	if (filter.kind <= XP_CAPTURE_API_EXIT) {
		bool launch = !strcmp(endpoint->cuda.api_name, "@launch");

		filter.match = launch ? XP_AGENT_MATCH_LAUNCH : XP_AGENT_MATCH_EXACT;
		snprintf(filter.name, sizeof(filter.name), "%s", launch ? "" : endpoint->cuda.api_name);
		return filter;
	}
	filter.match = match_of(endpoint);
	if (filter.match != XP_AGENT_MATCH_ANY)
		snprintf(filter.name, sizeof(filter.name), "%s", endpoint->cuda.literal);
	if (filter.kind == XP_CAPTURE_MEMCPY_START || filter.kind == XP_CAPTURE_MEMCPY_END)
		filter.copy_kind = copy_kind_of(endpoint);
	return filter;
}

int xp_agent_filter_of(const struct xp_agent_request *request, const struct xp_endpoint *endpoint)
{
	struct xp_agent_filter filter;

	if (!xp_agent_serves(endpoint))
		return -1;
	filter = filter_of(endpoint);
	for (unsigned i = 0; i < request->n_filters; i++)
		if (!memcmp(&request->filters[i], &filter, sizeof(filter)))
			return (int)i;
	return -1;
}

int xp_agent_filters(const struct xp_plan *plan, struct xp_agent_request *request, struct xp_err *reterr)
{
	for (unsigned i = 0; i < plan->n_endpoints; i++) {
		struct xp_agent_filter filter;
		unsigned k = 0;

		if (!xp_agent_serves(&plan->endpoints[i]))
			continue;
		filter = filter_of(&plan->endpoints[i]);
		while (k < request->n_filters && memcmp(&request->filters[k], &filter, sizeof(filter)) != 0)
			k++;
		if (k < request->n_filters)
			continue;
		if (k == XP_AGENT_FILTERS) {
			xp_fail(reterr, XP_E_SESSION_LIMIT_EXCEEDED, "more than %d different CUDA selectors in one capture",
				XP_AGENT_FILTERS);
			xp_err_limit(reterr, "cuda_filters", k + 1, 1, XP_AGENT_FILTERS);
			return -XP_E_SESSION_LIMIT_EXCEEDED;
		}
		request->filters[request->n_filters++] = filter;
	}
	return 0;
}
