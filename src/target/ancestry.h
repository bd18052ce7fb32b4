/* SPDX-License-Identifier: Apache-2.0 */
/* Is a process below another one? A walk up the parents that notices when one of them ends, or a number comes to mean another process. */
#ifndef XP_TARGET_ANCESTRY_H
#define XP_TARGET_ANCESTRY_H

#include "target/target.h"

enum xp_ancestry { XP_BELOW, XP_ELSEWHERE, XP_ANCESTRY_LOST };

struct xp_ancestor {
	uint32_t parent;
	uint64_t start_time;
};
/* Parent and start time of a process now; false: it is gone. */
typedef bool xp_ancestor_read(void *arg, uint32_t pid, struct xp_ancestor *ret_ancestor);

/*
 * From `child` up to `root` (which counts as below itself). When an ancestor ends meanwhile the walk is made once more; LOST: again so, or
 * the child itself is another process now.
 */
enum xp_ancestry xp_ancestry_walk(const struct xp_target_id *root, const struct xp_target_id *child, xp_ancestor_read *read, void *arg);
/* The same over /proc. */
enum xp_ancestry xp_ancestry_of(const struct xp_target_id *root, const struct xp_target_id *child);

#endif
