/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that try features share. */
#ifndef XP_TARGET_RIGHTS_PRIV_H
#define XP_TARGET_RIGHTS_PRIV_H

#include "base/arena.h"
#include "target/self.h"

/* One trial in progress. feature->status is XP_FEATURE_UNKNOWN until somebody decides. */
struct xp_trying {
	struct xp_self self;
	struct xp_arena *arena;
	struct xp_feature *feature;
};

void xp_try_nvml(struct xp_trying *t);
void xp_try_cupti_agent(struct xp_trying *t);
void xp_try_injection(struct xp_trying *t);
void xp_try_other_users(struct xp_trying *t);

/* Decides: status, one missing thing (NULL: none) and the sentence. */
void xp_try_decide(struct xp_trying *t, enum xp_feature_status status, const char *missing, const char *unblock);
/* Tells which call gave what on which object. errnum 0: no errno. */
void xp_try_call(struct xp_trying *t, const char *call, int errnum, const char *object);

#endif
