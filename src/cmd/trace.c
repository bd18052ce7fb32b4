/* SPDX-License-Identifier: Apache-2.0 */
/* `trace --spec` (hidden, contract 7): exact measurement specs only. */
#include "cmd/measure.h"

static const struct xp_flag flags[] = {
	{ .name = "--spec", .kind = XP_FLAG_TEXT, .value = "FILE", .doc = "a measurement spec" },
};

static int run(struct xp_session *session, struct xp_err *reterr)
{
	if (!xp_flag_on(session, "--spec"))
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--spec is required");
	return xp_measure_spec(session, reterr);
}

const struct xp_command xp_command_trace = {
	.name = "trace",
	.summary = "the same as measure --spec for exact measurement specs",
	.usage = "  xprobe trace --spec FILE\n",
	.flags = flags,
	.n_flags = XP_LEN(flags),
	.hidden = true,
	.captures = true,
	.run = run,
};
