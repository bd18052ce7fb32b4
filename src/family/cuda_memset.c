/* SPDX-License-Identifier: Apache-2.0 */
/* cuda:memset_start|memset_end, a memory set on the GPU. In: text. Out: side. No state. */
#include <string.h>

#include "family/cuda_resolve.h"
#include "family/grammar.h"

#define GRAMMAR "cuda:(memset_start|memset_end)"

static int parse(const char *text, struct xp_arena *arena, struct xp_endpoint *ep, struct xp_err *reterr)
{
	bool at_end = !strcmp(text, "cuda:memset_end");

	if (!at_end && strcmp(text, "cuda:memset_start") != 0)
		return xp_grammar_refuse(reterr, text, GRAMMAR, "nothing may follow the side");
	ep->type = at_end ? XP_EV_GPU_MEMSET_END : XP_EV_GPU_MEMSET_START;
	ep->boundary = at_end ? XP_AT_EXIT : XP_AT_ENTRY;
	ep->cuda.memcpy_kind = -1;
	return 0;
}

static const char *const heads[] = { "cuda:memset_end", "cuda:memset_start", NULL };

const struct xp_family xp_family_cuda_memset = {
	.name = "cuda_memset",
	.heads = heads,
	.grammar = GRAMMAR,
	.summary = "start or end of a memory set on the GPU",
	.example = "cuda:memset_start",
	.event_types = "gpu_memset_start, gpu_memset_end",
	.needs = XP_NEED_ACTIVITY,
	.parse = parse,
	.resolve = xp_cuda_resolve,
};
