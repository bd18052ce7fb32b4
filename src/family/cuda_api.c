/* SPDX-License-Identifier: Apache-2.0 */
/* cuda:runtime_api|driver_api:NAME|@launch:entry|exit, a call of one CUDA API. In: text. Out: domain and folded name. No state. */
#include <string.h>

#include "family/cuda_names.h"
#include "family/cuda_resolve.h"
#include "family/grammar.h"

#define GRAMMAR "cuda:(runtime_api|driver_api):(NAME|@launch):(entry|exit)"

/*
 * Names of other products (cublas..., cudnn...) and of the other domain are refused here. Whether CUPTI knows a well-formed name is
 * found out by the agent, which asks the CUPTI of the target.
 */
static int parse_name(const char *text, const char *name, struct xp_arena *arena, struct xp_endpoint *ep, struct xp_err *reterr)
{
	const char *folded = xp_cuda_fold(arena, name);

	if (strcmp(name, "@launch") != 0 && !xp_cuda_well_formed(ep->cuda.domain, folded))
		return xp_grammar_refuse(reterr, text, GRAMMAR,
					 ep->cuda.domain == XP_API_RUNTIME ? "runtime_api names start with cuda, such as cudaMemcpyAsync"
									   : "driver_api names start with cu, such as cuLaunchKernel");
	ep->cuda.api_name = folded;
	return 0;
}

static int parse(const char *text, struct xp_arena *arena, struct xp_endpoint *ep, struct xp_err *reterr)
{
	const char *domain = text + strlen("cuda:");
	const char *name = strchr(domain, ':');
	const char *boundary = name ? strchr(name + 1, ':') : NULL;

	if (!boundary)
		return xp_grammar_refuse(reterr, text, GRAMMAR, "it needs a domain, a name and a boundary");
	if ((size_t)(name - domain) == strlen("runtime_api") && !strncmp(domain, "runtime_api", name - domain))
		ep->cuda.domain = XP_API_RUNTIME;
	else if ((size_t)(name - domain) == strlen("driver_api") && !strncmp(domain, "driver_api", name - domain))
		ep->cuda.domain = XP_API_DRIVER;
	else
		return xp_grammar_refuse(reterr, text, GRAMMAR, "the domain must be runtime_api or driver_api");

	bool at_exit = !strcmp(boundary + 1, "exit");
	if (!at_exit && strcmp(boundary + 1, "entry") != 0)
		return xp_grammar_refuse(reterr, text, GRAMMAR, "the boundary must be entry or exit");
	ep->type = at_exit ? XP_EV_CUDA_API_EXIT : XP_EV_CUDA_API_ENTRY;
	ep->boundary = at_exit ? XP_AT_EXIT : XP_AT_ENTRY;
	ep->cuda.memcpy_kind = -1;
	return parse_name(text, xp_arena_dup(arena, name + 1, boundary - name - 1), arena, ep, reterr);
}

static const char *const heads[] = { "cuda:driver_api", "cuda:runtime_api", NULL };

const struct xp_family xp_family_cuda_api = {
	.name = "cuda_api",
	.heads = heads,
	.grammar = GRAMMAR,
	.summary = "call of the CUDA runtime or driver API; @launch is every call that launches kernels or graphs",
	.example = "cuda:runtime_api:cudaLaunchKernel:entry",
	.event_types = "cuda_api_entry, cuda_api_exit",
	.needs = XP_NEED_CALLBACK,
	.parse = parse,
	.resolve = xp_cuda_resolve,
};
