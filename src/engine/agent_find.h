/* SPDX-License-Identifier: Apache-2.0 */
/* Where the agent's memory file is in a target. */
#ifndef XP_ENGINE_AGENT_FIND_H
#define XP_ENGINE_AGENT_FIND_H

#include "base/err.h"
#include "target/target.h"

/*
 * Descriptors of every file in the target that looks like ours, one call each: *cursor starts at 0. A descriptor (owned), -1: no more,
 * -2: one was refused (fills reterr), go on.
 */
int xp_agent_find_next(struct xp_target *target, uint64_t *cursor, struct xp_err *reterr);

#endif
