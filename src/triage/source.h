/* SPDX-License-Identifier: Apache-2.0 */
/* The eight sources of a triage, available or not and why (contract 10.11 `Source`). */
#ifndef XP_TRIAGE_SOURCE_H
#define XP_TRIAGE_SOURCE_H

#include "collect/document.h"
#include "target/rights.h"

enum xp_source_id {
	XP_SOURCE_THREADS,
	XP_SOURCE_CGROUP,
	XP_SOURCE_CPU_SAMPLES,
	XP_SOURCE_OFF_CPU,
	XP_SOURCE_SYSCALLS,
	XP_SOURCE_GPU,
	XP_SOURCE_CUDA_KERNELS,
	XP_SOURCE_CUDA_COPIES,
	XP_SOURCE_COUNT
};
extern const char *const xp_source_names[XP_SOURCE_COUNT];

enum xp_source_status { XP_SOURCE_AVAILABLE, XP_SOURCE_UNAVAILABLE, XP_SOURCE_STATUS_COUNT };
extern const char *const xp_source_status_names[XP_SOURCE_STATUS_COUNT];

enum xp_source_reason {
	XP_REASON_NONE = -1,
	XP_REASON_NOT_PERMITTED,
	XP_REASON_ABSENT,
	XP_REASON_CAPACITY,
	XP_REASON_NOT_CUDA,
	XP_REASON_NO_CONTEXT,
	XP_REASON_TARGET_BUSY,
	XP_REASON_CUPTI_BUSY,
	XP_REASON_COLLECTION_DEAD,
	XP_REASON_TIMEOUT,
	XP_REASON_UNSUPPORTED,
	XP_REASON_FAILED,
	XP_REASON_COUNT
};
extern const char *const xp_source_reason_names[XP_REASON_COUNT];

struct xp_triage_source {
	const char *name;
	int status, reason;
	const char *detail, *call, *errno_name, *object;
	const struct xp_artifact *artifact; /* NULL: none was written */
	const struct xp_issue *issues;
	size_t n_issues;
	const char *unblock; /* not written: the smallest change that makes it available, NULL when unknown */
};
extern const struct xp_record xp_triage_source_record; /* "TriageSource" */

/* Available, without artifact. */
struct xp_triage_source xp_source_available(enum xp_source_id id);
struct xp_triage_source xp_source_unavailable(enum xp_source_id id, enum xp_source_reason reason, const char *detail);
/* Reason, call, errno and object out of the failure that took the source out; text in the arena. */
struct xp_triage_source xp_source_failed(enum xp_source_id id, const struct xp_err *err, struct xp_arena *arena);

#endif
