/* SPDX-License-Identifier: Apache-2.0 */
/* Where a writer puts its bytes, so that a large export is never held in memory: an artifact file, or stdout in cmd/. */
#ifndef XP_OUTPUT_SINK_H
#define XP_OUTPUT_SINK_H

#include <stddef.h>

#include "base/err.h"

struct xp_sink {
	/* 0, or -code with *reterr filled; after a failure nothing more is written. */
	int (*write)(void *arg, const char *bytes, size_t len, struct xp_err *reterr);
	void *arg;
};

#endif
