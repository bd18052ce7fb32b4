/* SPDX-License-Identifier: Apache-2.0 */
/* Rights, tried rather than guessed. Trial objects are attached to xprobe itself and removed at once. */
#ifndef XP_TARGET_RIGHTS_H
#define XP_TARGET_RIGHTS_H

#include "base/field.h"

enum xp_feature_status { XP_FEATURE_AVAILABLE, XP_FEATURE_RESTRICTED, XP_FEATURE_UNAVAILABLE, XP_FEATURE_UNKNOWN, XP_FEATURE_STATUS_COUNT };
extern const char *const xp_feature_status_names[XP_FEATURE_STATUS_COUNT];

/* Contract 10.12 `Feature`. Strings are static or in the arena that was passed. */
struct xp_feature {
	const char *feature;
	int status;
	bool tried;
	const char *call, *errno_name, *object;
	const char *const *missing;
	size_t n_missing;
	const char *unblock;
};
extern const struct xp_record xp_feature_record; /* "Feature" */

/*
 * Tries what `needs` (enum xp_need of family/family.h) asks for, on xprobe itself. *ret_missing: only the features that are not
 * available, in the arena.
 */
int xp_rights_check(unsigned needs, struct xp_arena *arena, struct xp_feature **ret_missing, size_t *ret_n, struct xp_err *reterr);

#endif
