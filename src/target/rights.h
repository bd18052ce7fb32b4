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

/* Every feature of contract 10.12, in its order. */
enum xp_feature_id {
	XP_FEATURE_UPROBE,
	XP_FEATURE_URETPROBE,
	XP_FEATURE_SYSCALL_TRACE,
	XP_FEATURE_TRACEPOINT,
	XP_FEATURE_USDT,
	XP_FEATURE_CPU_SAMPLE,
	XP_FEATURE_KERNEL_STACKS,
	XP_FEATURE_OFF_CPU,
	XP_FEATURE_PYTHON_FRAMES,
	XP_FEATURE_RUNQUEUE_TIME,
	XP_FEATURE_CGROUP_THROTTLING,
	XP_FEATURE_NVML,
	XP_FEATURE_CUPTI_AGENT,
	XP_FEATURE_INJECTION,
	XP_FEATURE_SYMBOLS_OF_OTHER_USERS,
	XP_FEATURE_COUNT
};

/* What a selector family or an inventory needs, as bits. */
enum xp_need {
	XP_NEED_BPF_UPROBE = 1,
	XP_NEED_BPF_SYSCALL = 2,
	XP_NEED_BPF_TRACEPOINT = 4,
	XP_NEED_CALLBACK = 8,
	XP_NEED_ACTIVITY = 16,
	XP_NEED_NVTX = 32,
	XP_NEED_SAMPLE = 64,
	XP_NEED_OFF_CPU = 128,
	XP_NEED_URETPROBE = 256
};

/* Tries one feature now. A driver that hangs is cut off and reported unknown. Never fails: what it finds is the answer. */
void xp_feature_try(enum xp_feature_id id, struct xp_arena *arena, struct xp_feature *ret_feature);
/* Tries what `needs` (enum xp_need) calls for; *ret_missing (in the arena) holds only the features that are not available. */
int xp_rights_check(unsigned needs, struct xp_arena *arena, struct xp_feature **ret_missing, size_t *ret_n, struct xp_err *reterr);
/* Do these needs call for that feature? */
bool xp_rights_want(unsigned needs, const struct xp_feature *feature);

#endif
