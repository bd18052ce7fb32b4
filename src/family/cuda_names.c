/* SPDX-License-Identifier: Apache-2.0 */
/* The launch calls of both CUDA APIs, and which calls an endpoint accepts. No state. */
#include "family/cuda_names.h"

#include <string.h>

#include "event/api_name.h"
#include "family/grammar.h"

/* Folded; `__cudaLaunchKernel` of CUDA 13 and the per-thread-stream forms are the same calls. */
static const char *const runtime_launches[] = {
	"cudaGraphLaunch",  "cudaLaunch",	   "cudaLaunchCooperativeKernel", "cudaLaunchCooperativeKernelMultiDevice",
	"cudaLaunchKernel", "cudaLaunchKernelExC",
};
static const char *const driver_launches[] = {
	"cuGraphLaunch",     "cuLaunch",       "cuLaunchCooperativeKernel", "cuLaunchCooperativeKernelMultiDevice", "cuLaunchGrid",
	"cuLaunchGridAsync", "cuLaunchKernel", "cuLaunchKernelEx",
};

const char *xp_cuda_fold(struct xp_arena *arena, const char *name)
{
	size_t len;
	const char *folded = xp_api_fold(name, &len);

	return xp_arena_dup(arena, folded, len);
}

bool xp_cuda_well_formed(enum xp_api_domain domain, const char *folded)
{
	const char *head = domain == XP_API_RUNTIME ? "cuda" : "cu";
	size_t n = strlen(head);

	return !strncmp(folded, head, n) && folded[n] >= 'A' && folded[n] <= 'Z' && xp_grammar_word(folded, strlen(folded));
}

static bool is_launch(enum xp_api_domain domain, const char *folded)
{
	const char *const *table = domain == XP_API_RUNTIME ? runtime_launches : driver_launches;
	size_t n = domain == XP_API_RUNTIME ? XP_LEN(runtime_launches) : XP_LEN(driver_launches);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(table[i], folded))
			return true;
	return false;
}

bool xp_cuda_launches(enum xp_api_domain domain, const char *folded)
{
	return !strcmp(folded, "@launch") || is_launch(domain, folded);
}

bool xp_cuda_api_matches(const struct xp_endpoint *ep, enum xp_api_domain domain, const char *folded)
{
	if (ep->cuda.domain != domain)
		return false;
	if (!strcmp(ep->cuda.api_name, "@launch"))
		return is_launch(domain, folded);
	return !strcmp(ep->cuda.api_name, folded);
}
