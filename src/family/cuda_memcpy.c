/* SPDX-License-Identifier: Apache-2.0 */
/* cuda:memcpy_start|memcpy_end[:kind=KIND], a copy on the GPU. In: text. Out: side and direction. No state. */
#include <string.h>

#include "family/cuda_resolve.h"
#include "family/grammar.h"

#define GRAMMAR "cuda:(memcpy_start|memcpy_end)[:kind=(HtoD|DtoH|DtoD|HtoH|PtoP)]"

/* The directions a selector may name; `unknown` is for results only. */
static const char *const kinds[] = {
	[XP_COPY_HTOD] = "HtoD", [XP_COPY_DTOH] = "DtoH", [XP_COPY_DTOD] = "DtoD", [XP_COPY_HTOH] = "HtoH", [XP_COPY_PTOP] = "PtoP",
};
_Static_assert(XP_LEN(kinds) == XP_COPY_UNKNOWN, "every direction but unknown can be selected");

static int parse(const char *text, struct xp_arena *arena, struct xp_endpoint *ep, struct xp_err *reterr)
{
	bool at_end = !strncmp(text, "cuda:memcpy_end", strlen("cuda:memcpy_end"));
	const char *rest = text + (at_end ? strlen("cuda:memcpy_end") : strlen("cuda:memcpy_start"));

	ep->type = at_end ? XP_EV_GPU_MEMCPY_END : XP_EV_GPU_MEMCPY_START;
	ep->boundary = at_end ? XP_AT_EXIT : XP_AT_ENTRY;
	ep->cuda.memcpy_kind = -1;
	if (!*rest)
		return 0;
	if (strncmp(rest, ":kind=", strlen(":kind=")) != 0)
		return xp_grammar_refuse(reterr, text, GRAMMAR, "behind the side only :kind= may follow");
	for (size_t i = 0; i < XP_LEN(kinds); i++)
		if (!strcmp(rest + strlen(":kind="), kinds[i]))
			ep->cuda.memcpy_kind = (int)i;
	if (ep->cuda.memcpy_kind < 0)
		return xp_grammar_refuse(reterr, text, GRAMMAR, "the kind must be HtoD, DtoH, DtoD, HtoH or PtoP");
	return 0;
}

static const char *const heads[] = { "cuda:memcpy_end", "cuda:memcpy_start", NULL };

const struct xp_family xp_family_cuda_memcpy = {
	.name = "cuda_memcpy",
	.heads = heads,
	.grammar = GRAMMAR,
	.summary = "start or end of a copy on the GPU, of any or one direction",
	.example = "cuda:memcpy_start:kind=HtoD",
	.event_types = "gpu_memcpy_start, gpu_memcpy_end",
	.needs = XP_NEED_ACTIVITY,
	.parse = parse,
	.resolve = xp_cuda_resolve,
};
