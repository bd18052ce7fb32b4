// SPDX-License-Identifier: Apache-2.0
/* `measure --triage`: every inventory of every process in one window, rules over their values. In: flags. Out: session->value and the files
 * of the run. */
#include "cmd/triage_mode.h"

#include <string.h>

#include "cmd/emit.h"
#include "cmd/inventory_run.h"
#include "output/report_triage.h"

static void free_folder(void *folder)
{
	xp_artifact_folder_free(folder);
}

/* What the command line asks for, checked before the target is looked at. */
static int read_flags(const struct xp_session *session, struct xp_triage_run *run, struct xp_err *reterr)
{
	const struct xp_flag_use *cost = xp_flag_find(session, "--max-cost");
	int rc = xp_triage_choose(session, &run->choice, reterr);

	if (!rc)
		rc = xp_inventory_flags(session, &run->request, reterr);
	run->max_cost = cost ? cost->share : 0.05;
	run->request.for_triage = true;
	if (!rc)
		rc = xp_triage_report_flags(session, &run->events_out, reterr);
	return rc ? rc : xp_artifact_folder_check(reterr);
}

static enum xp_status status_of(enum xp_window_end end)
{
	switch (end) {
	case XP_END_DURATION:
	case XP_END_SAMPLES:
	case XP_END_CAPACITY:
		return XP_COMPLETED;
	case XP_END_TIMEOUT:
		return XP_TIMED_OUT;
	case XP_END_COST:
	case XP_END_SIGNAL:
		return XP_CANCELLED;
	case XP_END_TARGET_GONE:
	case XP_END_FAILED:
	case XP_WINDOW_END_COUNT:
		return XP_FAILED;
	}
	return XP_FAILED;
}

/* No source at all of any process: the command has nothing to say, and the first refusal says why. */
static int check_any_source(struct xp_triage_run *run, struct xp_err *reterr)
{
	const struct xp_triage_source *why = NULL;

	for (size_t i = 0; i < run->targets.n * XP_SOURCE_COUNT; i++) {
		const struct xp_triage_source *source = &run->processes[i / XP_SOURCE_COUNT].input.sources[i % XP_SOURCE_COUNT];

		if (source->status == XP_SOURCE_AVAILABLE)
			return 0;
		if (source->call && (!why || (source->reason == XP_REASON_NOT_PERMITTED && why->reason != XP_REASON_NOT_PERMITTED)))
			why = source;
	}
	int rc = xp_fail(reterr, XP_E_PERMISSION_DENIED, "no source of the triage is available%s%s", why && why->detail ? ": " : "",
			 why && why->detail ? why->detail : "");
	if (why) {
		snprintf(reterr->call, sizeof(reterr->call), "%s", why->call);
		snprintf(reterr->errno_text, sizeof(reterr->errno_text), "%s", why->errno_name ? why->errno_name : "");
		xp_err_object(reterr, "%s", why->object ? why->object : "");
	}
	if (why && why->unblock)
		xp_err_hint(reterr, "%s", why->unblock);
	return rc;
}

static int before_window(struct xp_err *failure, struct xp_err *reterr)
{
	if (failure->code)
		return xp_err_move(reterr, failure);
	int rc = xp_fail(reterr, XP_E_CANCELLED, "a signal ended the command before the window opened");

	xp_err_detail(reterr, "cancelled", json_true());
	return rc;
}

/* The failure that the command ends with; what could be made goes with it. */
static int fail_with_partial(struct xp_triage_run *run, struct xp_triage *triage, struct xp_err *failure, struct xp_err *reterr)
{
	triage->status = XP_FAILED;
	xp_inventory_kept(failure, triage->evidence.artifact);
	if (run->window.end == XP_END_TIMEOUT)
		xp_err_detail(failure, "timed_out", json_true());
	if (run->window.end == XP_END_SIGNAL)
		xp_err_detail(failure, "cancelled", json_true());
	xp_err_partial(failure, &xp_triage_record, triage, xp_triage_budget(triage), xp_triage_shrink);
	return xp_err_move(reterr, failure);
}

/*
 * The process whose end is the command's: any that was asked for by its pid. Descendants come and go, which is told in the result; with
 * none left there is nothing to go on for.
 */
static const struct xp_triage_process *lost_process(const struct xp_triage_run *run)
{
	for (size_t i = 0; i < run->targets.n; i++) {
		const struct xp_triage_process *process = &run->processes[i];

		if (process->watch->gone && (!run->choice.tree || xp_target_pid(process->target) == run->choice.pids[0]))
			return process;
	}
	return NULL;
}

/* Identity outranks what else went wrong (contract 1.5). */
static void check_targets(const struct xp_triage_run *run, struct xp_err *failure)
{
	const struct xp_triage_process *lost = lost_process(run);
	xp_auto_err gone = { 0 };

	if (!lost)
		return;
	if (!xp_target_check(lost->target, &gone))
		xp_fail(&gone, XP_E_TARGET_EXITED, "process %u ended in the window", xp_target_pid(lost->target));
	if (failure->code && failure->code != gone.code)
		xp_err_detail(&gone, "original_error_code", json_string(xp_err_name(failure->code)));
	xp_err_move(failure, &gone);
}

static int write_report(struct xp_triage_run *run, struct xp_triage *triage, struct xp_err *reterr)
{
	const struct xp_triage_input **inputs = xp_arena_array(run->session->arena, const struct xp_triage_input *, run->targets.n);

	for (size_t i = 0; i < run->targets.n; i++)
		inputs[i] = &run->processes[i].input;
	return xp_triage_write_report(run->session, run->events_out, triage, inputs, run->targets.n, reterr);
}

static int conclude(struct xp_triage_run *run, struct xp_err *failure, struct xp_err *reterr)
{
	struct xp_session *session = run->session;
	xp_auto_err err = { 0 };

	run->status = status_of(run->window.end);
	for (size_t i = 0; i < run->targets.n; i++)
		xp_triage_finish(run, &run->processes[i]);
	check_targets(run, failure);
	if (!failure->code && check_any_source(run, failure))
		return xp_err_move(reterr, failure);
	for (size_t i = 0; i < run->targets.n && !err.code; i++)
		xp_triage_write_sources(run, &run->processes[i], &err);
	struct xp_triage *triage = xp_triage_result(run);
	triage->invocation = session->program;
	if (!err.code)
		xp_triage_write_index(run, triage, &err);
	if (!err.code)
		write_report(run, triage, &err);
	if (err.code && !failure->code)
		xp_err_move(failure, &err);
	if (failure->code)
		return fail_with_partial(run, triage, failure, reterr);
	session->value = triage;
	session->record = &xp_triage_record;
	session->human = xp_report_triage;
	session->shrink = xp_triage_shrink;
	session->budget = run->request.full_evidence ? 0 : xp_triage_budget(triage);
	return 0;
}

static int run_window(struct xp_triage_run *run, struct xp_err *reterr)
{
	struct xp_window_bounds bounds = {
		.duration_ms = run->request.duration_ms,
		.timeout_ms = run->request.timeout_ms,
		.max_cost = run->max_cost,
	};
	xp_auto_err failure = { 0 };

	xp_measure_progress(&bounds, xp_flag_on(run->session, "--non-interactive"));
	xp_window_run_all(run->collectors, run->n_collectors, run->watched, run->targets.n, &bounds, &run->window, &failure);
	xp_measure_progress_end(&bounds);
	return run->window.opened ? conclude(run, &failure, reterr) : before_window(&failure, reterr);
}

static void share_engines(struct xp_triage_run *run)
{
	uint32_t *pids = xp_arena_array(run->session->arena, uint32_t, run->targets.n);

	for (size_t i = 0; i < run->targets.n; i++)
		pids[i] = xp_target_pid(run->targets.at[i]);
	run->peers.targets = (struct xp_bpf_targets){ .pids = pids, .n = run->targets.n };
	run->request.peers = &run->peers;
}

static int open_processes(struct xp_triage_run *run, struct xp_err *reterr)
{
	struct xp_arena *arena = run->session->arena;
	int rc = xp_triage_open_targets(&run->choice, arena, &run->targets, reterr);

	if (rc)
		return rc;
	run->processes = xp_arena_array(arena, struct xp_triage_process, run->targets.n);
	run->watched = xp_arena_array(arena, struct xp_window_target, run->targets.n);
	for (size_t i = 0; i < run->targets.n; i++) {
		struct xp_triage_process *process = &run->processes[i];

		process->target = run->watched[i].target = run->targets.at[i];
		process->watch = &run->watched[i];
		if (xp_triage_several(run))
			process->folder = xp_arena_fmt(arena, "pid-%u", xp_target_pid(process->target));
	}
	if (run->targets.n > 1)
		share_engines(run);
	xp_triage_relate(run);
	return 0;
}

int xp_measure_triage(struct xp_session *session, struct xp_err *reterr)
{
	struct xp_triage_run *run = xp_arena_new_of(session->arena, struct xp_triage_run);
	int rc = read_flags(session, run, reterr);

	run->session = session;
	if (!rc)
		rc = open_processes(run, reterr);
	if (rc)
		return rc;
	run->folder = xp_artifact_folder_new();
	xp_arena_defer(session->arena, free_folder, run->folder);
	rc = xp_triage_open_sources(run, reterr);
	if (!rc)
		rc = run_window(run, reterr);
	xp_triage_free_sources(run);
	return rc;
}
