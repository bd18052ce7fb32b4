/* SPDX-License-Identifier: Apache-2.0 */
/* A mechanism that is only there to show that one file and one line add one. */
#include "engine/engine.h"

const struct xp_engine xp_engine_toy = {
	.name = "toy",
	.summary = "collects nothing",
	.sources = (const char *const[]){ NULL },
};
