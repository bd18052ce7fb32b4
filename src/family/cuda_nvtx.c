/* SPDX-License-Identifier: Apache-2.0 */
/* cuda:nvtx_range_start|nvtx_range_end:name~PATTERN, an annotation range of the program. In: text. Out: side and filter. No state. */
#include <string.h>

#include "family/cuda_resolve.h"
#include "family/grammar.h"
#include "family/pattern.h"

#define GRAMMAR "cuda:(nvtx_range_start|nvtx_range_end):name~PATTERN"

static int parse(const char *text, struct xp_arena *arena, struct xp_endpoint *ep, struct xp_err *reterr)
{
	bool at_end = !strncmp(text, "cuda:nvtx_range_end", strlen("cuda:nvtx_range_end"));
	const char *rest = text + (at_end ? strlen("cuda:nvtx_range_end") : strlen("cuda:nvtx_range_start"));

	if (strncmp(rest, ":name~", strlen(":name~")) != 0)
		return xp_grammar_refuse(reterr, text, GRAMMAR, "a range needs :name~ and a pattern");
	int rc = xp_pattern_parse(ep, rest + strlen(":name~"), arena, reterr);
	if (rc)
		return rc;
	/* The agent filters on the application's own thread, where only a comparison of bytes is cheap enough. */
	if (ep->cuda.match == XP_MATCH_ANY || ep->cuda.match == XP_MATCH_REGEX) {
		rc = xp_grammar_refuse(reterr, text, GRAMMAR, "the pattern must reduce to exact, prefix, suffix or contains");
		xp_err_hint(reterr, "use ^TEXT$, ^TEXT, TEXT$ or TEXT with at most %d bytes", XP_LITERAL_MAX);
		return rc;
	}
	ep->type = at_end ? XP_EV_NVTX_RANGE_END : XP_EV_NVTX_RANGE_START;
	ep->boundary = at_end ? XP_AT_EXIT : XP_AT_ENTRY;
	ep->cuda.memcpy_kind = -1;
	return 0;
}

static const char *const heads[] = { "cuda:nvtx_range_end", "cuda:nvtx_range_start", NULL };

const struct xp_family xp_family_cuda_nvtx = {
	.name = "cuda_nvtx",
	.heads = heads,
	.grammar = GRAMMAR,
	.summary = "start or end of an NVTX range whose name matches a bounded pattern",
	.example = "cuda:nvtx_range_start:name~^step$",
	.event_types = "nvtx_range_start, nvtx_range_end",
	.needs = XP_NEED_NVTX,
	.parse = parse,
	.resolve = xp_cuda_resolve,
};
