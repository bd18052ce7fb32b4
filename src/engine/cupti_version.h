/* SPDX-License-Identifier: Apache-2.0 */
/* What can be known of a libcupti's version from outside, before any call into it. */
#ifndef XP_ENGINE_CUPTI_VERSION_H
#define XP_ENGINE_CUPTI_VERSION_H

#include "engine/cupti_find.h"

/* Older than 13.0 U1, as far as its place tells: a stop of GPU activities will hold launches. False also where it does not tell. */
bool xp_cupti_is_old(const struct xp_target *target, const struct xp_cupti_choice *choice);

#endif
