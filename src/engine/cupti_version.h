/* SPDX-License-Identifier: Apache-2.0 */
/* What can be known of a libcupti's version from outside, before any call into it. */
#ifndef XP_ENGINE_CUPTI_VERSION_H
#define XP_ENGINE_CUPTI_VERSION_H

#include "engine/cupti_find.h"

/* Of CUDA 12: a stop of GPU activities will hold launches. */
bool xp_cupti_is_old(const struct xp_cupti_choice *choice);
/* 12.9, or 13.0 without its first update, as far as its place tells: no GPU activities. False also where it does not tell; the agent knows.
 */
bool xp_cupti_loses_contexts(const struct xp_target *target, const struct xp_cupti_choice *choice);

#endif
