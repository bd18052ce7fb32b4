/* SPDX-License-Identifier: Apache-2.0 */
/* A triage rule that is only there to show that one file and one line add one. */
#include "triage/rule.h"

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
}

const struct xp_rule xp_rule_toy = {
	.code = "toy",
	.order = 100000,
	.run = run,
};
