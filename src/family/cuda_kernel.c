/* SPDX-License-Identifier: Apache-2.0 */
/* cuda:kernel_start|kernel_end[:name~REGEX|:function~REGEX], a kernel on the GPU. In: text. Out: side and filter. No state. */
#include <string.h>

#include "family/cuda_resolve.h"
#include "family/grammar.h"
#include "family/pattern.h"

#define GRAMMAR "cuda:(kernel_start|kernel_end)[:name~REGEX|:function~REGEX]"

static int parse(const char *text, struct xp_arena *arena, struct xp_endpoint *ep, struct xp_err *reterr)
{
	bool at_end = !strncmp(text, "cuda:kernel_end", strlen("cuda:kernel_end"));
	const char *rest = text + (at_end ? strlen("cuda:kernel_end") : strlen("cuda:kernel_start"));

	ep->type = at_end ? XP_EV_GPU_KERNEL_END : XP_EV_GPU_KERNEL_START;
	ep->boundary = at_end ? XP_AT_EXIT : XP_AT_ENTRY;
	ep->cuda.memcpy_kind = -1;
	if (!*rest)
		return 0;

	ep->cuda.on_function = !strncmp(rest, ":function~", strlen(":function~"));
	if (!ep->cuda.on_function && strncmp(rest, ":name~", strlen(":name~")) != 0)
		return xp_grammar_refuse(reterr, text, GRAMMAR, "behind the side only :name~ or :function~ and an expression may follow");
	return xp_pattern_parse(ep, strchr(rest, '~') + 1, arena, reterr);
}

static const char *const heads[] = { "cuda:kernel_end", "cuda:kernel_start", NULL };

const struct xp_family xp_family_cuda_kernel = {
	.name = "cuda_kernel",
	.heads = heads,
	.grammar = GRAMMAR,
	.summary = "start or end of a kernel on the GPU, filtered by its name or demangled function name",
	.example = "cuda:kernel_start:name~gemm",
	.event_types = "gpu_kernel_start, gpu_kernel_end",
	.needs = XP_NEED_ACTIVITY,
	.parse = parse,
	.resolve = xp_cuda_resolve,
};
