// SPDX-License-Identifier: Apache-2.0
/* What the processes of a triage did -> one result. In: finished inputs. Out: struct xp_triage. No state. */
#include "cmd/triage_mode.h"

#include "engine/proc_tree.h"
#include "result/triage_several.h"
#include "target/program.h"

enum { MAX_GENERATIONS = 64 };

static uint64_t bit_of(const struct xp_triage_run *run, uint32_t pid)
{
	for (size_t i = 0; i < run->targets.n; i++)
		if (xp_target_pid(run->targets.at[i]) == pid)
			return UINT64_C(1) << i;
	return 0;
}

void xp_triage_relate(struct xp_triage_run *run)
{
	for (size_t i = 0; i < run->targets.n; i++) {
		struct xp_triage_process *process = &run->processes[i];
		struct xp_program program;

		xp_program_read(process->target, run->session->arena, &program);
		process->executable = program.executable;
		process->parent_pid = xp_tree_parent(xp_target_pid(process->target));
		uint32_t pid = process->parent_pid;

		for (int up = 0; pid && up < MAX_GENERATIONS; up++, pid = xp_tree_parent(pid))
			process->ancestors |= bit_of(run, pid);
	}
}

static struct xp_triage *assemble_one(struct xp_triage_run *run, const struct xp_triage_process *process)
{
	struct xp_session *session = run->session;
	const struct xp_triage_parts parts = {
		.session_id = session->session_id,
		.name = run->request.name,
		.status = process->status,
		.input = process->input,
		.window = process->window,
		.requested_ms = run->request.duration_ms,
		.evidence_mode = run->request.full_evidence ? XP_EVIDENCE_FULL : XP_EVIDENCE_SUMMARY,
		.warnings = &session->warnings,
	};

	return xp_triage_assemble(&parts, session->arena);
}

/* The descendants of a process, which have their results already. */
static void link_descendants(struct xp_triage_run *run, size_t at, struct xp_triage *const *results)
{
	struct xp_triage_input *input = &run->processes[at].input;
	struct xp_triage_relative *below = xp_arena_array(run->session->arena, struct xp_triage_relative, run->targets.n);

	input->descendants = below;
	for (size_t i = 0; i < run->targets.n; i++)
		if (run->processes[i].ancestors >> at & 1)
			below[input->n_descendants++] = (struct xp_triage_relative){
				.input = &run->processes[i].input,
				.best = results[i]->n_findings ? results[i]->findings[0] : NULL,
			};
}

/* A descendant has one ancestor in the run more than each process above it, so they are done by that number falling. */
static void assemble_all(struct xp_triage_run *run, struct xp_triage **results)
{
	for (int above = MAX_GENERATIONS; above >= 0; above--)
		for (size_t i = 0; i < run->targets.n; i++) {
			if (__builtin_popcountll(run->processes[i].ancestors) != above)
				continue;
			link_descendants(run, i, results);
			results[i] = assemble_one(run, &run->processes[i]);
		}
}

struct xp_triage *xp_triage_result(struct xp_triage_run *run)
{
	struct xp_session *session = run->session;
	struct xp_triage **results = xp_arena_array(session->arena, struct xp_triage *, run->targets.n);
	struct xp_triage_member *members = xp_arena_array(session->arena, struct xp_triage_member, run->targets.n);

	assemble_all(run, results);
	if (!xp_triage_several(run))
		return results[0];
	for (size_t i = 0; i < run->targets.n; i++) {
		const struct xp_triage_process *process = &run->processes[i];

		members[i] = (struct xp_triage_member){
			.triage = results[i],
			.input = &process->input,
			.parent_pid = process->parent_pid,
			.executable = process->executable,
			.status = process->status,
			.made = process->window.children,
			.exec_seen = process->window.exec_seen,
		};
	}
	const struct xp_triage_several all = {
		.session_id = session->session_id,
		.name = run->request.name,
		.status = run->status,
		.window = run->window,
		.requested_ms = run->request.duration_ms,
		.evidence_mode = run->request.full_evidence ? XP_EVIDENCE_FULL : XP_EVIDENCE_SUMMARY,
		.warnings = &session->warnings,
		.at = members,
		.n = run->targets.n,
		.tree = run->choice.tree,
		.root = run->choice.pids[0],
		.total = run->targets.total,
	};
	return xp_triage_join(&all, session->arena);
}
