/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of arming, in order; the stop walks those that are on backwards. */
#ifndef XP_AGENT_STEPS_H
#define XP_AGENT_STEPS_H

#include <stdbool.h>

enum { AGENT_STEPS = 6 };

struct agent_step {
	int (*on)(void);		     /* XP_AGENT_* status */
	void (*off)(void);		     /* NULL: ends with a step below */
	bool activities, subscription, nvtx; /* applies only with these */
};
extern const struct agent_step xp_agent_steps[AGENT_STEPS];
bool xp_agent_step_applies(const struct agent_step *step);

#endif
