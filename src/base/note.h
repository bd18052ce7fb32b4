/* SPDX-License-Identifier: Apache-2.0 */
/* Doubts as data: warnings (contract 1.6), quality issues (13) and planning issues (5), collected in lists that grow in an arena. */
#ifndef XP_BASE_NOTE_H
#define XP_BASE_NOTE_H

#include "base/field.h"

struct xp_warning {
	const char *code, *message;
	json_t *details;
};
extern const struct xp_record xp_warning_record; /* "Warning" */

enum xp_severity { XP_INFO, XP_CAUTION, XP_SEVERITY_COUNT };
struct xp_issue {
	const char *code;
	int severity;
	const char *message;
	json_t *details;
};
extern const struct xp_record xp_issue_record; /* "QualityIssue" */

struct xp_warnings {
	struct xp_arena *arena;
	struct xp_warning *at;
	size_t n, cap;
};
struct xp_issues {
	struct xp_arena *arena;
	struct xp_issue *at;
	size_t n, cap;
};

/* Both take `details` (may be NULL) in every case. The message is formatted into the arena. */
void xp_warn(struct xp_warnings *list, const char *code, json_t *details, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void xp_issue_add(struct xp_issues *list, const char *code, enum xp_severity severity, json_t *details, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
bool xp_warnings_have(const struct xp_warnings *list, const char *code);

enum xp_verdict { XP_GOOD, XP_CAUTIOUS, XP_VERDICT_COUNT };
/* Contract 13 `quality`. */
struct xp_quality {
	int verdict;
	const struct xp_issue *issues;
	size_t n_issues;
};
extern const struct xp_record xp_quality_record; /* "Quality" */
/* caution when any issue has that severity. */
struct xp_quality xp_quality_of(const struct xp_issues *issues);

/* Contract 10.3 `status`. */
enum xp_status { XP_COMPLETED, XP_TIMED_OUT, XP_CANCELLED, XP_FAILED, XP_STATUS_COUNT };
extern const char *const xp_status_names[XP_STATUS_COUNT];

#endif
