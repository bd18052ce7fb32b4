// SPDX-License-Identifier: Apache-2.0
/* `measure --triage`: every inventory in one window, rules over their values. In: flags. Out: session->value and the files of the run. */
#include "cmd/triage_mode.h"

#include <string.h>

#include "cmd/emit.h"
#include "output/report_triage.h"

/*
 * cgroup first and threads late: the end readings of many threads take longest. The agent comes when all else is ready, and its lease asks
 * for being armed last.
 */
static const enum xp_source_id arm_order[] = { XP_SOURCE_CGROUP,  XP_SOURCE_SYSCALLS,	  XP_SOURCE_CPU_SAMPLES, XP_SOURCE_OFF_CPU,
					       XP_SOURCE_THREADS, XP_SOURCE_CUDA_KERNELS, XP_SOURCE_CUDA_COPIES };

static void close_target(void *target)
{
	xp_target_close(target);
}

static void free_folder(void *folder)
{
	xp_artifact_folder_free(folder);
}

/* What the command line asks for, checked before the target is looked at. */
static int read_flags(const struct xp_session *session, struct xp_triage_run *run, uint32_t *ret_pid, struct xp_err *reterr)
{
	const struct xp_flag_use *cost = xp_flag_find(session, "--max-cost");
	unsigned pids = 0;
	int rc;

	for (size_t i = 0; i < session->n_uses; i++)
		pids += !strcmp(session->uses[i].flag->name, "--pid");
	if (pids != 1 || xp_flag_on(session, "--tree"))
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, pids ? "this build triages one process at a time" : "--pid is missing");
	*ret_pid = (uint32_t)xp_flag_u64(session, "--pid", 0);
	run->max_cost = cost ? cost->share : 0.05;
	rc = xp_inventory_flags(session, &run->request, reterr);
	run->request.for_triage = true;
	if (!rc)
		rc = xp_triage_report_flags(session, &run->events_out, reterr);
	return rc ? rc : xp_artifact_folder_check(reterr);
}

/* Why a source is not there; for a missing right with the smallest change that brings it. */
static struct xp_triage_source refused(const struct xp_triage_run *run, enum xp_source_id id, const struct xp_err *err)
{
	struct xp_triage_source source = xp_source_failed(id, err, run->session->arena);
	struct xp_feature feature;

	if (source.reason != XP_REASON_NOT_PERMITTED)
		return source;
	xp_feature_try(xp_triage_feeds[id].feature, run->session->arena, &feature);
	if (feature.unblock)
		source.unblock = feature.unblock;
	return source;
}

/* Opens the inventory of one source as an optional collector. Only a mistake of the caller fails the command. */
static int open_source(struct xp_triage_run *run, enum xp_source_id id, struct xp_err *reterr)
{
	const struct xp_inventory_kind *kind = xp_triage_inventory(id);
	struct xp_arena *arena = run->session->arena;
	struct xp_triage_part *part = &run->parts[run->n];
	xp_auto_err err = { 0 };

	if (!kind || (xp_triage_feeds[id].cuda && !run->request.cuda))
		return 0;
	if (!kind->open(&run->request, run->target, arena, &part->state, &err)) {
		part->kind = kind;
		part->id = id;
		run->collectors[run->n++] = (struct xp_collector){ .ops = kind->ops, .state = part->state, .optional = true };
		return 0;
	}
	if (err.code == XP_E_INVALID_EVENT_SELECTOR || err.code == XP_E_TARGET_EXITED || err.code == XP_E_TARGET_REUSED)
		return xp_err_move(reterr, &err);
	run->input.sources[id] = refused(run, id, &err);
	return 0;
}

/* Both CUDA sources are refused together, before anything is done to the target. */
static void look_at_cuda(struct xp_triage_run *run)
{
	xp_auto_err err = { 0 };

	if (!xp_triage_maps_cuda(run->target))
		return;
	if (!xp_triage_cuda_check(run->session, run->target, &run->cuda, &err)) {
		run->request.cuda = &run->cuda;
		return;
	}
	run->input.sources[XP_SOURCE_CUDA_KERNELS] = refused(run, XP_SOURCE_CUDA_KERNELS, &err);
	run->input.sources[XP_SOURCE_CUDA_COPIES] = refused(run, XP_SOURCE_CUDA_COPIES, &err);
}

static int open_all(struct xp_triage_run *run, struct xp_err *reterr)
{
	int rc = 0;

	for (int id = 0; id < XP_SOURCE_COUNT; id++)
		run->input.sources[id] = xp_triage_source_absent(id, run->target);
	look_at_cuda(run);
	for (size_t i = 0; i < XP_LEN(arm_order) && !rc; i++)
		rc = open_source(run, arm_order[i], reterr);
	return rc;
}

static void free_parts(struct xp_triage_run *run)
{
	for (size_t i = 0; i < run->n; i++) {
		run->parts[i].kind->free(run->parts[i].state);
		xp_err_done(&run->collectors[i].err);
	}
}

/* After the window: the value of one inventory becomes a source that rules may use, or a reason. */
static void finish_source(struct xp_triage_run *run, size_t i)
{
	struct xp_triage_part *part = &run->parts[i];
	const struct xp_triage_feed *feed = &xp_triage_feeds[part->id];
	xp_auto_err err = { 0 };

	if (part->kind->effects)
		part->kind->effects(part->state, &run->window.cost);
	if (run->collectors[i].out)
		xp_err_move(&err, &run->collectors[i].err);
	if (err.code || part->kind->finish(part->state, &run->window, run->session->arena, &part->value, &err)) {
		run->input.sources[part->id] = refused(run, part->id, &err);
		if (feed->cuda)
			xp_triage_cuda_failed(run->input.sources, part->id);
		return;
	}
	if (feed->head)
		feed->head(part->value, &run->head);
	struct xp_triage_source *source = &run->input.sources[part->id];

	*source = xp_source_available(part->id);
	if (feed->take(part->value, &run->input, source, run->session->arena))
		return;
	source->status = XP_SOURCE_UNAVAILABLE;
	source->reason = XP_REASON_CAPACITY;
	source->detail = "its table was full; what it had is in its artifact";
}

static void finish_all(struct xp_triage_run *run)
{
	run->input.target = *xp_target_identity(run->target);
	run->input.window_ns = run->window.end_ns - run->window.start_ns;
	run->input.python = xp_triage_maps_python(run->target);
	run->input.can_sample = xp_triage_inventory(XP_SOURCE_CPU_SAMPLES) != NULL;
	run->input.forked = run->window.children;
	run->input.agent_loaded = run->cuda.loaded;
	run->head = (struct xp_document){
		.session_id = run->session->session_id,
		.status = run->status,
		.target = run->input.target,
		.evidence = { .mode = XP_EVIDENCE_FULL },
		.cost = &run->window.cost,
	};
	for (size_t i = 0; i < run->n; i++)
		finish_source(run, i);
	xp_triage_cuda_warn(run->session, &run->cuda, &run->window.cost);
	uint32_t forked = 0;
	for (size_t i = 0; run->input.threads && i < run->input.threads->n_children; i++)
		forked += run->input.threads->children[i].started;
	if (forked > run->input.forked)
		run->input.forked = forked;
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

/* No source at all: the command has nothing to say, and the first refusal says why. */
static int check_any_source(struct xp_triage_run *run, struct xp_err *reterr)
{
	const struct xp_triage_source *why = NULL;

	for (int id = 0; id < XP_SOURCE_COUNT; id++) {
		const struct xp_triage_source *source = &run->input.sources[id];

		if (source->status == XP_SOURCE_AVAILABLE)
			return 0;
		if (source->call && (!why || source->reason == XP_REASON_NOT_PERMITTED))
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

static int before_window(struct xp_triage_run *run, struct xp_err *failure, struct xp_err *reterr)
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
	if (triage->evidence.artifact)
		xp_err_detail(failure, "artifact_path", xp_json_text(triage->evidence.artifact->path));
	if (run->window.end == XP_END_TIMEOUT)
		xp_err_detail(failure, "timed_out", json_true());
	if (run->window.end == XP_END_SIGNAL)
		xp_err_detail(failure, "cancelled", json_true());
	xp_err_partial(failure, &xp_triage_record, triage, XP_TRIAGE_BUDGET, xp_triage_shrink);
	return xp_err_move(reterr, failure);
}

/* Identity outranks what else went wrong (contract 1.5). */
static void check_target(const struct xp_triage_run *run, struct xp_err *failure)
{
	xp_auto_err gone = { 0 };

	if (run->window.end != XP_END_TARGET_GONE)
		return;
	if (!xp_target_check(run->target, &gone))
		xp_fail(&gone, XP_E_TARGET_EXITED, "process %u ended in the window", xp_target_pid(run->target));
	if (failure->code && failure->code != gone.code)
		xp_err_detail(&gone, "original_error_code", json_string(xp_err_name(failure->code)));
	xp_err_move(failure, &gone);
}

static int conclude(struct xp_triage_run *run, struct xp_err *failure, struct xp_err *reterr)
{
	struct xp_session *session = run->session;
	struct xp_triage_parts parts = {
		.session_id = session->session_id,
		.name = run->request.name,
		.requested_ms = run->request.duration_ms,
		.evidence_mode = run->request.full_evidence ? XP_EVIDENCE_FULL : XP_EVIDENCE_SUMMARY,
		.warnings = &session->warnings,
	};
	xp_auto_err err = { 0 };

	run->status = status_of(run->window.end);
	finish_all(run);
	check_target(run, failure);
	if (!failure->code && check_any_source(run, failure))
		return xp_err_move(reterr, failure);
	if (xp_triage_write_sources(run, &err) && !failure->code)
		xp_err_move(failure, &err);
	parts.status = run->status;
	parts.window = run->window;
	parts.input = run->input;
	struct xp_triage *triage = xp_triage_assemble(&parts, session->arena);
	const struct xp_triage_input *inputs[] = { &run->input };

	triage->invocation = session->program;
	if (!err.code && xp_triage_write_index(run, triage, &err) && !failure->code)
		xp_err_move(failure, &err);
	if (!err.code && xp_triage_write_report(session, run->events_out, triage, inputs, XP_LEN(inputs), &err) && !failure->code)
		xp_err_move(failure, &err);
	if (failure->code)
		return fail_with_partial(run, triage, failure, reterr);
	session->value = triage;
	session->record = &xp_triage_record;
	session->human = xp_report_triage;
	session->shrink = xp_triage_shrink;
	session->budget = run->request.full_evidence ? 0 : XP_TRIAGE_BUDGET;
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
	xp_window_run(run->collectors, run->n, run->target, &bounds, &run->window, &failure);
	xp_measure_progress_end(&bounds);
	return run->window.opened ? conclude(run, &failure, reterr) : before_window(run, &failure, reterr);
}

int xp_measure_triage(struct xp_session *session, struct xp_err *reterr)
{
	struct xp_triage_run *run = xp_arena_new_of(session->arena, struct xp_triage_run);
	uint32_t pid = 0;
	int rc = read_flags(session, run, &pid, reterr);

	run->session = session;
	if (!rc)
		rc = xp_target_open(pid, NULL, &run->target, reterr);
	if (rc)
		return rc;
	xp_arena_defer(session->arena, close_target, run->target);
	run->folder = xp_artifact_folder_new();
	xp_arena_defer(session->arena, free_folder, run->folder);
	rc = open_all(run, reterr);
	if (!rc)
		rc = run_window(run, reterr);
	free_parts(run);
	return rc;
}
