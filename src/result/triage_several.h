/* SPDX-License-Identifier: Apache-2.0 */
/* Several processes of one window as one TriageResult (contract 10.11, 14.3). */
#ifndef XP_RESULT_TRIAGE_SEVERAL_H
#define XP_RESULT_TRIAGE_SEVERAL_H

#include "result/triage.h"

enum { XP_TRIAGE_MAX_ROWS = 16 };

/* One process, as xp_triage_assemble made it. */
struct xp_triage_member {
	const struct xp_triage *triage;
	const struct xp_triage_input *input;
	uint32_t parent_pid;
	const char *executable;
	int status;    /* XP_FAILED: it ended or became another process */
	uint32_t made; /* processes that it forked in the window, as far as they were counted */
	bool exec_seen;
};

struct xp_triage_several {
	const char *session_id, *name;
	int status;
	struct xp_window window; /* common; its cost is the sum */
	uint64_t requested_ms;
	int evidence_mode;
	struct xp_warnings *warnings; /* may grow: TARGET_EXEC, TARGET_FORKED */
	const struct xp_triage_member *at;
	size_t n;
	bool tree;
	uint32_t root;	/* of a tree */
	uint32_t total; /* of a tree: processes found; else n */
};

/* Findings of all, ranked; gaps and doubts of all, each once; the rows; who differs. evidence.artifact is the caller's to set. */
struct xp_triage *xp_triage_join(const struct xp_triage_several *in, struct xp_arena *arena);
#endif
