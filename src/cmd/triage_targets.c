// SPDX-License-Identifier: Apache-2.0
/* From flags to opened processes. In: the session, /proc for a tree. Out: targets in the arena. No state. */
#include "cmd/triage_targets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/proc_tree.h"
#include "inventory/thread_filter.h"
#include "plan/spec.h"

int xp_triage_choose(const struct xp_session *session, struct xp_triage_choice *ret_choice, struct xp_err *reterr)
{
	struct xp_triage_choice choice = { .tree = xp_flag_on(session, "--tree") };
	uint64_t given = 0;

	for (size_t i = 0; i < session->n_uses; i++) {
		if (strcmp(session->uses[i].flag->name, "--pid") != 0 || given++ >= XP_TRIAGE_MAX_PIDS)
			continue;
		uint32_t pid = (uint32_t)session->uses[i].number;

		for (size_t k = 0; k < choice.n; k++)
			if (choice.pids[k] == pid)
				return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--pid %u is given twice", pid);
		choice.pids[choice.n++] = pid;
	}
	if (!given)
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--pid is missing");
	if (choice.tree && given > 1)
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--tree goes with one --pid");
	int rc = xp_spec_bound("pid", given, 1, XP_TRIAGE_MAX_PIDS, reterr);

	if (!rc)
		*ret_choice = choice;
	return rc;
}

static void close_target(void *target)
{
	xp_target_close(target);
}

static int add_target(uint32_t pid, struct xp_arena *arena, struct xp_triage_targets *targets, struct xp_err *reterr)
{
	struct xp_target *target;
	int rc = xp_target_open(pid, NULL, &target, reterr);

	if (rc)
		return rc;
	xp_arena_defer(arena, close_target, target);
	targets->at[targets->n++] = target;
	return 0;
}

static int most_cpu_first(const void *a, const void *b)
{
	const struct xp_tree_node *x = a, *y = b;

	if (x->last_ns != y->last_ns)
		return x->last_ns > y->last_ns ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static int by_pid(const void *a, const void *b)
{
	uint32_t x = xp_target_pid(*(struct xp_target *const *)a), y = xp_target_pid(*(struct xp_target *const *)b);

	return x < y ? -1 : x > y;
}

/* Behind the root, which is open already. A descendant that has ended is none, nor is this command where the root is the script that runs
 * it. */
static int add_descendants(uint32_t root, struct xp_arena *arena, struct xp_triage_targets *targets, struct xp_err *reterr)
{
	xp_auto(xp_tree_free) struct xp_tree *tree = xp_tree_new(root);
	uint32_t ended = 0, own = 0;

	if (!tree)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "process tree");
	xp_tree_begin(tree);
	qsort(tree->nodes, tree->n, sizeof(*tree->nodes), most_cpu_first);
	for (size_t i = 0; i < tree->n && targets->n < XP_TRIAGE_MAX_TREE; i++) {
		xp_auto_err refused = { 0 };

		if (tree->nodes[i].pid == (uint32_t)getpid())
			own = 1;
		else if (add_target(tree->nodes[i].pid, arena, targets, &refused))
			ended += refused.code == XP_E_TARGET_NOT_FOUND || refused.code == XP_E_TARGET_EXITED;
	}
	targets->total = 1 + tree->total - ended - own;
	qsort(targets->at, targets->n, sizeof(*targets->at), by_pid);
	return 0;
}

int xp_triage_open_targets(const struct xp_triage_choice *choice, struct xp_arena *arena, struct xp_triage_targets *ret_targets,
			   struct xp_err *reterr)
{
	struct xp_triage_targets targets = { .at = xp_arena_array(arena, struct xp_target *, XP_TRIAGE_MAX_TREE) };
	int rc = 0;

	for (size_t i = 0; i < choice->n && !rc; i++)
		rc = add_target(choice->pids[i], arena, &targets, reterr);
	targets.total = (uint32_t)targets.n;
	if (!rc && choice->tree)
		rc = add_descendants(choice->pids[0], arena, &targets, reterr);
	if (!rc)
		*ret_targets = targets;
	return rc;
}

int xp_triage_check_threads(const struct xp_inventory_request *request, const struct xp_triage_targets *targets, struct xp_arena *arena,
			    struct xp_err *reterr)
{
	xp_auto_err first = { 0 };

	for (size_t i = 0; request->threads && i < targets->n; i++) {
		xp_auto_err err = { 0 };

		if (!xp_thread_filter_check(request, targets->at[i], arena, &err))
			return 0;
		if (!first.code)
			xp_err_move(&first, &err);
	}
	return first.code ? xp_err_move(reterr, &first) : 0;
}
