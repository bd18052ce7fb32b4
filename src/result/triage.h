/* SPDX-License-Identifier: Apache-2.0 */
/* TriageResult and TriageValidationResult (contract 10.10, 10.11) as values, and the pure way from inventory values to them. */
#ifndef XP_RESULT_TRIAGE_H
#define XP_RESULT_TRIAGE_H

#include "collect/document.h"
#include "result/triage_summary.h"
#include "triage/odd_one_out.h"
#include "triage/rule.h"

enum { XP_TRIAGE_BUDGET = 24576, XP_TRIAGE_BUDGET_EACH = 8192 /* for each further process */ };

struct xp_triage_window {
	uint64_t start_ns, duration_ns, requested_ms;
};

struct xp_not_covered {
	const char *code, *message;
};

/* One of several processes. */
struct xp_triage_row {
	const struct xp_target_id *target;
	uint32_t parent_pid;
	const char *executable; /* "": none */
	int status;
	const struct xp_triage_source *sources;
	size_t n_sources;
	struct xp_triage_summary *summary;
	const struct xp_finding *const *findings;
	size_t n_findings;
	uint32_t findings_total;
	const struct xp_cost *cost;
};

struct xp_triage {
	const char *session_id;
	int status;
	const struct xp_target_id *target;
	const char *name;
	struct xp_triage_window window;
	const struct xp_triage_source *sources;
	size_t n_sources;
	struct xp_triage_summary *summary;
	const struct xp_finding *const *findings;
	size_t n_findings;
	uint32_t findings_total;
	const struct xp_not_covered *not_covered;
	size_t n_not_covered;
	struct xp_triage_row *processes; /* NULL: one process */
	size_t n_processes;
	struct xp_opt_u32 processes_total; /* of a tree */
	const struct xp_odd *odd_one_out;  /* NULL: one process */
	size_t n_odd_one_out;
	struct xp_quality quality;
	struct xp_evidence evidence;
	const struct xp_cost *cost;
	const struct xp_warning *warnings;
	size_t n_warnings;
	/* Not written, for people: */
	const char *invocation;		  /* how this xprobe is called, as a shell takes it; NULL: "xprobe" */
	const struct xp_artifact *report; /* file of --events-out; NULL: none */
};
extern const struct xp_record xp_triage_record; /* "TriageResult" */

/* What the window left. `sources` of input carry the artifacts already; strings and values live as long as the arena. */
struct xp_triage_parts {
	const char *session_id, *name;
	int status;
	struct xp_triage_input input;
	struct xp_window window;
	uint64_t requested_ms;
	int evidence_mode;
	struct xp_warnings *warnings; /* may grow: TARGET_EXEC, TARGET_FORKED */
};

/* Rules, summary, gaps, quality. evidence.artifact is the caller's to set. */
struct xp_triage *xp_triage_assemble(const struct xp_triage_parts *parts, struct xp_arena *arena);
/* Bytes of contract 1.1 that the compact document may take. */
size_t xp_triage_budget(const struct xp_triage *triage);
/* One cut of the size budget: false when nothing is left to cut. */
bool xp_triage_shrink(void *value);

/* triage.json: where everything of this run lies. */
struct xp_triage_file {
	uint32_t rank;
	const char *code, *path; /* of a proposed spec */
};
struct xp_triage_index_row {
	struct xp_target_id target;
	const struct xp_triage_source *sources;
	size_t n_sources;
};
struct xp_triage_index {
	const char *session_id;
	const struct xp_target_id *target; /* NULL: several processes */
	struct xp_triage_window window;
	const struct xp_triage_source *sources; /* NULL: several processes */
	size_t n_sources;
	const struct xp_triage_index_row *processes; /* NULL: one process */
	size_t n_processes;
	const struct xp_triage_file *specs;
	size_t n_specs;
};
extern const struct xp_record xp_triage_index_record; /* "TriageIndex" */

#endif
