/* SPDX-License-Identifier: Apache-2.0 */
/* cuda:nvtx_range_start|nvtx_range_end:name~PATTERN, an annotation range of the program. In: text. Out: side and filter. No state. */
#include <string.h>

#include "elf/nvtx.h"
#include "family/family.h"
#include "family/grammar.h"
#include "family/pattern.h"
#include "wire/agent_codes.h"

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

/* An agent that is there hooks whatever comes; else at least one copy of the header must be free to be hooked. Needs nothing of CUDA. */
static bool has_agent(const struct xp_maps *maps)
{
	for (size_t i = 0; i < maps->n; i++)
		if (!strcmp(maps->at[i].path, "/memfd:" XP_AGENT_MEMFD))
			return true;
	return false;
}

static int resolve(struct xp_endpoint *ep, struct xp_target *target, const struct xp_resolve_options *options, struct xp_arena *arena,
		   struct xp_err *reterr)
{
	struct xp_nvtx_clients clients;

	if (has_agent(xp_target_maps(target)))
		return 0;
	int rc = xp_nvtx_clients_read(target, &clients, reterr);
	if (rc || clients.usable)
		return rc;
	if (clients.foreign)
		rc = xp_fail(reterr, XP_E_CUPTI_AGENT_NOT_LOADED, "another tool owns all %u copies of the NVTX header in process %u",
			     clients.copies, xp_target_pid(target));
	else
		rc = xp_fail(reterr, XP_E_CUPTI_AGENT_NOT_LOADED, "no library of process %u has a known NVTX header",
			     xp_target_pid(target));
	xp_err_object(reterr, "%s", ep->selector);
	xp_err_hint(reterr, "start the program with NVTX_INJECTION64_PATH set to the agent file, or measure the calls inside the range");
	return rc;
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
	.resolve = resolve,
};
