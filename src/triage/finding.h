/* SPDX-License-Identifier: Apache-2.0 */
/* One answer of a triage: what, how much of the window, by which numbers, and what to do next (contract 10.11 `Finding`). */
#ifndef XP_TRIAGE_FINDING_H
#define XP_TRIAGE_FINDING_H

#include "plan/spec.h"

enum xp_finding_confidence { XP_MEASURED, XP_ESTIMATED, XP_FINDING_CONFIDENCE_COUNT };

/* The variants of `next`; `kind` says which. */
enum xp_next_kind { XP_NEXT_SPEC, XP_NEXT_ACTION, XP_NEXT_KIND_COUNT };
struct xp_next_spec {
	int kind;
	const struct xp_measurement_spec *spec;
	bool target_mutation;
	const char *path; /* not written: file that holds the spec; NULL: none */
};
struct xp_next_action {
	int kind;
	const char *code, *message;
	const char *const *command;
	size_t n_command;
	const char *object;
};

struct xp_finding {
	uint32_t rank;
	const char *code;
	uint32_t pid;
	const char *subject;
	struct xp_opt_f64 window_share;
	struct xp_interval window_share_interval_95;
	int confidence;
	const char *message;
	json_t *evidence; /* owned by the arena */
	void *next;	  /* struct xp_next_spec or xp_next_action */
	/* Not written: */
	uint32_t tid;	      /* thread the finding is about; 0: none */
	const uint32_t *tids; /* further ones that it explains */
	size_t n_tids;
	const char *call;	 /* syscall, copy direction or kernel that it is a consequence of; NULL: none */
	bool condition;		 /* a thread that waits to be told to go on; gpu_wait: what tells it to is a busy device */
	bool in_copy, in_launch; /* most of what it counts lies under CUDA calls that copy, that launch */
	bool holder_unknown;	 /* waits for a lock, and what the lock is held for isn't known */
	bool fallback;		 /* kept only when no other finding is above 0.20 */
	bool taken;		 /* absorbed by another one */
};
extern const struct xp_record xp_finding_record; /* "Finding" */

/* Grows in its arena; earlier pointers stay valid. */
struct xp_findings {
	struct xp_arena *arena;
	struct xp_finding **at;
	size_t n, cap;
};

/*
 * Appends. `evidence` (takes; NULL: {}) is released by the arena. window_share < 0: null; above 1 it is cut to 1.
 */
struct xp_finding *xp_finding_add(struct xp_findings *list, const char *code, const char *subject, double window_share, json_t *evidence);
void xp_finding_say(struct xp_findings *list, struct xp_finding *finding, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* next: measure between two selectors, sized for `per_second` starts (contract 14.2); 0: not known. */
void xp_next_pair(struct xp_findings *list, struct xp_finding *finding, const struct xp_target_id *target, const char *name,
		  double per_second, enum xp_policy_id policy, const char *from, const char *to);
/* next: measure from the entry to the return of the function at these two selectors (contract 14.2, rate not known). */
void xp_next_function(struct xp_findings *list, struct xp_finding *finding, const struct xp_target_id *target, const char *name,
		      const char *entry, const char *leave);
/* next: measure Python's collections. */
void xp_next_python_gc(struct xp_findings *list, struct xp_finding *finding, const struct xp_target_id *target);
/* Lists in evidence.absorbed what the finding took. */
void xp_finding_absorb(struct xp_finding *finding, const char *code, const char *subject, struct xp_opt_f64 window_share);

/* next: an action; `command` NULL-terminated words or NULL. The text is formatted into the arena. */
void xp_next_action(struct xp_findings *list, struct xp_finding *finding, const char *code, const char *object, const char *const *command,
		    const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* next: measure syscall:<name>:entry -> exit, sized for `per_second` starts (contract 14.2). */
void xp_next_syscall(struct xp_findings *list, struct xp_finding *finding, const struct xp_target_id *target, const char *syscall,
		     double per_second);

#endif
