/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes a triage looks at: repeated --pid, or one with --tree. */
#ifndef XP_CMD_TRIAGE_TARGETS_H
#define XP_CMD_TRIAGE_TARGETS_H

#include "cmd/command.h"
#include "target/target.h"

enum { XP_TRIAGE_MAX_PIDS = 16, XP_TRIAGE_MAX_TREE = 64 };

struct xp_inventory_request;

struct xp_triage_choice {
	uint32_t pids[XP_TRIAGE_MAX_PIDS]; /* as given */
	size_t n;
	bool tree;
};

/* By the flags alone. INVALID_ARGUMENT: no --pid, one twice, several with --tree. SESSION_LIMIT_EXCEEDED: too many. */
int xp_triage_choose(const struct xp_session *session, struct xp_triage_choice *ret_choice, struct xp_err *reterr);

/* Opened processes; the session's arena closes them. */
struct xp_triage_targets {
	struct xp_target **at; /* as given; of a tree by pid, its root among them */
	size_t n;
	uint32_t total; /* of a tree: processes found, the root and those that were not opened included; else n */
};
/*
 * A tree is its root and the XP_TRIAGE_MAX_TREE - 1 descendants with the most CPU time so far. A descendant that can't be opened is
 * counted; any other process fails with the code of xp_target_open.
 */
int xp_triage_open_targets(const struct xp_triage_choice *choice, struct xp_arena *arena, struct xp_triage_targets *ret_targets,
			   struct xp_err *reterr);
/*
 * A filter of threads must fit one of them: of several processes some may have no thread of the wanted name; that none has one is the
 * caller's mistake (contract 6.8). 0 without a filter.
 */
int xp_triage_check_threads(const struct xp_inventory_request *request, const struct xp_triage_targets *targets, struct xp_arena *arena,
			    struct xp_err *reterr);

#endif
