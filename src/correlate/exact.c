/* SPDX-License-Identifier: Apache-2.0 */
/* exact: pairs whose events share a key that the system itself made. In: a match. Out: pairs. No state. */
#include "correlate/exact.h"

#include <string.h>

#include "correlate/activity.h"

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

bool xp_exact_launches(const char *api_name)
{
	static const char *const launches[] = {
		"@launch",
		"cuGraphLaunch",
		"cuLaunch",
		"cuLaunchCooperativeKernel",
		"cuLaunchCooperativeKernelMultiDevice",
		"cuLaunchGrid",
		"cuLaunchGridAsync",
		"cuLaunchKernel",
		"cuLaunchKernelEx",
		"cudaGraphLaunch",
		"cudaLaunch",
		"cudaLaunchCooperativeKernel",
		"cudaLaunchCooperativeKernelMultiDevice",
		"cudaLaunchKernel",
		"cudaLaunchKernelExC",
	};

	for (size_t i = 0; i < XP_LEN(launches); i++)
		if (!strcmp(launches[i], api_name))
			return true;
	return false;
}

static bool same_filter(const struct xp_endpoint *start, const struct xp_endpoint *end)
{
	return start->cuda.on_function == end->cuda.on_function && start->cuda.memcpy_kind == end->cuda.memcpy_kind &&
	       same_text(start->cuda.pattern, end->cuda.pattern);
}

static bool same_api(const struct xp_endpoint *start, const struct xp_endpoint *end)
{
	return start->cuda.domain == end->cuda.domain && same_text(start->cuda.api_name, end->cuda.api_name);
}

static bool launches_kernel(const struct xp_endpoint *start, const struct xp_endpoint *end)
{
	bool kernel = end->type == XP_EV_GPU_KERNEL_START || end->type == XP_EV_GPU_KERNEL_END;

	return kernel && xp_is_api(start->type) && start->cuda.api_name && xp_exact_launches(start->cuda.api_name);
}

static unsigned rank(const struct xp_endpoint *start, const struct xp_endpoint *end)
{
	bool possible = launches_kernel(start, end);

	if (xp_is_activity_span(start->type, end->type))
		return same_filter(start, end) ? XP_RANK_EXACT : XP_RANK_EXACT_OTHER_FILTER;
	if (start->type == XP_EV_SYSCALL_ENTRY && end->type == XP_EV_SYSCALL_EXIT)
		possible = same_text(start->syscall.name, end->syscall.name);
	else if (start->type == XP_EV_PYTHON_GC_START && end->type == XP_EV_PYTHON_GC_END)
		possible = true;
	else if (start->type == XP_EV_NVTX_RANGE_START && end->type == XP_EV_NVTX_RANGE_END)
		possible = same_filter(start, end);
	else if (start->type == XP_EV_CUDA_API_ENTRY && end->type == XP_EV_CUDA_API_EXIT)
		possible = same_api(start, end);
	return possible ? XP_RANK_EXACT : XP_RANK_IMPOSSIBLE;
}

/* One row a family of keys; the start's event type chooses it. */
static const struct {
	enum xp_event_type first, last;
	const char *method;
	bool (*run)(struct xp_match *match);
} kinds[] = {
	{ XP_EV_SYSCALL_ENTRY, XP_EV_SYSCALL_EXIT, "exact_syscall_tid_lifecycle", xp_exact_syscall },
	{ XP_EV_PYTHON_GC_START, XP_EV_PYTHON_GC_END, "exact_python_gc_tid_lifecycle", xp_exact_thread },
	{ XP_EV_CUDA_API_ENTRY, XP_EV_GPU_MEMSET_END, "exact_cupti_correlation_id", xp_exact_cuda },
	{ XP_EV_NVTX_RANGE_START, XP_EV_NVTX_RANGE_END, "exact_nvtx_range_id", xp_exact_range },
};

static size_t kind_of(const struct xp_endpoint *start)
{
	size_t i = 0;

	while (i < XP_LEN(kinds) - 1 && (start->type < kinds[i].first || start->type > kinds[i].last))
		i++;
	return i;
}

static const char *method(const struct xp_endpoint *start)
{
	return kinds[kind_of(start)].method;
}

static bool run(struct xp_match *match)
{
	return kinds[kind_of(match->start)].run(match);
}

const struct xp_policy xp_policy_exact = {
	.name = "exact",
	.reason = "deterministic_correlation_key",
	.confidence = XP_CONF_EXACT,
	.rank = rank,
	.method = method,
	.run = run,
};
