/* SPDX-License-Identifier: Apache-2.0 */
/* TriageValidationResult (contract 10.10): which sources a triage would have. */
#ifndef XP_RESULT_TRIAGE_VALIDATION_H
#define XP_RESULT_TRIAGE_VALIDATION_H

#include "plan/validation.h"
#include "triage/source.h"

struct xp_triage_check {
	const char *name;
	int status, reason;		  /* enum xp_source_status, enum xp_source_reason */
	const struct xp_feature *feature; /* the right that was tried; NULL: none is needed or the build has no such source */
};

struct xp_triage_requirements {
	bool needs_ebpf, needs_perf_event, needs_cupti, target_mutation;
	int agent_activation;
};

struct xp_triage_validation {
	bool valid;
	const struct xp_target_id *target;    /* NULL: several processes */
	const struct xp_target_id *processes; /* NULL: one process */
	size_t n_processes;
	const struct xp_triage_check *sources;
	size_t n_sources;
	struct xp_triage_requirements requirements;
	const struct xp_plan_issue *issues;
	size_t n_issues;
	const struct xp_warning *warnings;
	size_t n_warnings;
};
extern const struct xp_record xp_triage_validation_record; /* "TriageValidationResult" */

/* A source whose right was tried. */
struct xp_triage_check xp_triage_check_of(enum xp_source_id id, const struct xp_feature *feature);
/* valid and issues out of the sources: a triage is refused only when no source at all would be there. */
void xp_triage_validation_judge(struct xp_triage_validation *value, struct xp_arena *arena);

#endif
