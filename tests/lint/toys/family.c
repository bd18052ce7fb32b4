/* SPDX-License-Identifier: Apache-2.0 */
/* A selector family that is only there to show that one file and one line add one. */
#include "family/family.h"

static int parse(const char *text, struct xp_arena *arena, struct xp_endpoint *ep, struct xp_err *reterr)
{
	return xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR, "%s selects nothing", text);
}

static const char *const heads[] = { "toy", NULL };

const struct xp_family xp_family_toy = {
	.name = "toy",
	.heads = heads,
	.grammar = "\"toy\"",
	.summary = "selects nothing",
	.example = "toy",
	.event_types = "none",
	.parse = parse,
};
