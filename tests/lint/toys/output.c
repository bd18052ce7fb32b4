/* SPDX-License-Identifier: Apache-2.0 */
/* A file format that is only there to show that one file and one line add one. */
#include "output/output.h"

static int write_toy(const struct xp_output_input *input, const struct xp_sink *sink, struct xp_err *reterr)
{
	return sink->write(sink->arg, "toy\n", 4, reterr);
}

const struct xp_output xp_output_toy = {
	.name = "toy",
	.summary = "says nothing",
	.takes = XP_TAKES_EVENTS,
	.write = write_toy,
};
