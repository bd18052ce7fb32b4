/* SPDX-License-Identifier: Apache-2.0 */
/* Times of launch calls around captures of GPU activity. "shared": written on application threads, atomically. */
#ifndef XP_AGENT_RESIDUAL_H
#define XP_AGENT_RESIDUAL_H

#include <stdbool.h>
#include <stdint.h>

enum {
	AGENT_TIMES = 2048, /* steps of a call's time that are told apart; longer ones are the last */
	AGENT_TIMES_STEP_NS = 16,
};

struct launch_times {
	uint32_t n, of[AGENT_TIMES]; /* shared */
};
struct residual {
	bool began; /* the first capture of activities: from here on no launch is without what it leaves */
	struct launch_times before, after;
};

#endif
