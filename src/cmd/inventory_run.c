/* SPDX-License-Identifier: Apache-2.0 */
/* One inventory on its own: request, window, value, artifact, document. No state. */
#include "cmd/inventory_run.h"

#include <string.h>

#include "base/regex.h"
#include "cmd/emit.h"
#include "collect/issues.h"
#include "output/output.h"
#include "target/rights.h"

enum { RESULT_BUDGET = 16384, PARTIAL_BUDGET = 12288 };

int xp_inventory_of_flag(const char *flag, const struct xp_inventory_kind **ret_kind, struct xp_err *reterr)
{
	size_t n;
	const struct xp_inventory_kind *const *all = xp_inventories(&n);

	for (size_t i = 0; i < n; i++) {
		if (all[i]->flag && !strcmp(all[i]->flag, flag)) {
			*ret_kind = all[i];
			return 0;
		}
	}
	int rc = xp_fail(reterr, XP_E_INVALID_ARGUMENT, "%s is not part of this build", flag);
	xp_err_object(reterr, "%s", flag);
	return rc;
}

static void regex_free(void *regex)
{
	xp_regex_free(regex);
}

int xp_inventory_threads(const char *text, struct xp_arena *arena, struct xp_inventory_request *request, struct xp_err *reterr)
{
	struct xp_regex *regex;

	if (!text)
		return 0;
	if (strncmp(text, "name~", 5) != 0) {
		int rc = xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR, "a thread filter is name~REGEX");

		xp_err_object(reterr, "%.200s", text);
		return rc;
	}
	int rc = xp_regex_new(text + 5, &regex, reterr);
	if (rc)
		return rc;
	xp_arena_defer(arena, regex_free, regex);
	request->threads_pattern = text + 5;
	request->threads = regex;
	return 0;
}

int xp_inventory_flags(const struct xp_session *session, struct xp_inventory_request *request, struct xp_err *reterr)
{
	*request = (struct xp_inventory_request){
		.name = xp_flag_text(session, "--name", NULL),
		.duration_ms = xp_flag_u64(session, "--duration-ms", 0),
		.timeout_ms = xp_flag_u64(session, "--timeout-ms", 30000),
		.max_groups = xp_flag_u64(session, "--max-groups", 0),
		.max_inflight = xp_flag_u64(session, "--max-inflight", 0),
		.max_samples = xp_flag_u64(session, "--max-samples", 0),
		.max_threads = xp_flag_u64(session, "--max-threads", 0),
		.frequency_hz = xp_flag_u64(session, "--frequency-hz", 0),
		.stack_depth = xp_flag_u64(session, "--stack-depth", 0),
		.min_block_us = xp_flag_u64(session, "--min-block-us", 0),
		.off_cpu = xp_flag_on(session, "--off-cpu"),
		.full_evidence = !strcmp(xp_flag_text(session, "--evidence", "summary"), "full"),
	};
	return xp_inventory_threads(xp_flag_text(session, "--threads", NULL), session->arena, request, reterr);
}

int xp_inventory_output(const struct xp_session *session, struct xp_inventory_run *run, struct xp_err *reterr)
{
	const char *format = xp_flag_text(session, "--format", NULL);

	run->events_out = xp_flag_text(session, "--events-out", NULL);
	if (!run->events_out)
		return 0;
	if (strcmp(run->kind->name, "cpu_samples") != 0)
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--events-out does not go with this spec");
	int rc = xp_output_choose(format, "folded", XP_TAKES_CPU_SAMPLES, &run->output, reterr);
	if (!rc)
		rc = xp_artifact_check_destination(run->events_out, reterr);
	if (rc || !run->output->blocked_suffix || !run->request.off_cpu)
		return rc;
	return xp_artifact_check_destination(xp_arena_fmt(session->arena, "%s%s", run->events_out, run->output->blocked_suffix), reterr);
}

static void warn_of_changes(struct xp_session *session, const struct xp_window *window)
{
	if (window->exec_seen)
		xp_warn(&session->warnings, "TARGET_EXEC", NULL, "the process replaced its program in the window");
	if (window->children)
		xp_warn(&session->warnings, "TARGET_FORKED", json_pack("{s:i}", "children", (int)window->children),
			"the process made %u children, which are not covered", window->children);
}

/* State of one run; what it points to lives in the session's arena. */
struct state {
	struct xp_session *session;
	const struct xp_inventory_run *run;
	struct xp_target *target;
	struct xp_window *window;
	struct xp_document *value; /* first member of the inventory's value */
};

static const char *artifact_name(const struct xp_inventory_kind *kind, struct xp_arena *arena)
{
	char *name = xp_arena_fmt(arena, "%s.json", kind->artifact ? kind->artifact : kind->name);

	for (char *p = name; *p; p++)
		if (*p == '_')
			*p = '-';
	return name;
}

static void folder_free(void *folder)
{
	xp_artifact_folder_free(folder);
}

static int write_artifact(struct state *s, struct xp_err *reterr)
{
	struct xp_arena *arena = s->session->arena;
	struct xp_artifact_folder *folder = xp_artifact_folder_new();
	struct xp_artifact *artifact = xp_arena_new_of(arena, struct xp_artifact);
	struct xp_artifact_file *file;

	xp_arena_defer(arena, folder_free, folder);
	int rc = xp_artifact_open_in(folder, NULL, artifact_name(s->run->kind, arena), &file, reterr);
	if (!rc)
		rc = xp_artifact_write_record(file, s->run->kind->record, s->value, arena, artifact, reterr);
	if (rc)
		return rc;
	artifact->format = "json";
	s->value->evidence.artifact = artifact;
	return 0;
}

/* The extra file of --events-out; the JSON artifact stays the evidence (contract 12). */
static int write_output(struct state *s, struct xp_err *reterr)
{
	const struct xp_output_input input = { .session_id = s->session->session_id, .record = s->run->kind->record, .value = s->value };
	const struct xp_output *output = s->run->output;
	struct xp_artifact unused;
	struct xp_artifact_file *file;

	if (!output)
		return 0;
	int rc = xp_artifact_open(s->run->events_out, &file, reterr);
	if (!rc)
		rc = xp_output_file(output, &input, file, s->session->arena, &unused, reterr);
	if (rc || !output->write_blocked || !s->run->request.off_cpu)
		return rc;
	rc = xp_artifact_open(xp_arena_fmt(s->session->arena, "%s%s", s->run->events_out, output->blocked_suffix), &file, reterr);
	return rc ? rc : xp_output_blocked_file(output, &input, file, s->session->arena, reterr);
}

static int write_files(struct state *s, struct xp_err *reterr)
{
	int rc = s->run->kind->empty && s->run->kind->empty(s->value) ? 0 : write_artifact(s, reterr);

	return rc ? rc : write_output(s, reterr);
}

static void fill_head(struct state *s)
{
	struct xp_document *head = s->value;

	head->session_id = s->session->session_id;
	head->status = (int)xp_window_status(s->window);
	head->target = *xp_target_identity(s->target);
	head->evidence.mode = s->run->request.full_evidence ? XP_EVIDENCE_FULL : XP_EVIDENCE_SUMMARY;
	head->cost = &s->window->cost;
	warn_of_changes(s->session, s->window);
	for (size_t i = 0; i < head->n_warnings; i++)
		xp_warn(&s->session->warnings, head->warnings[i].code, json_incref(head->warnings[i].details), "%s",
			head->warnings[i].message);
	head->warnings = s->session->warnings.at;
	head->n_warnings = s->session->warnings.n;
}

void xp_inventory_kept(struct xp_err *failure, const struct xp_artifact *artifact)
{
	if (!artifact)
		return;
	xp_err_detail(failure, "artifact_path", xp_json_text(artifact->path));
	xp_err_detail(failure, "artifact_format", xp_json_text(artifact->format));
}

static int fail_with_partial(struct state *s, struct xp_err *failure, struct xp_err *reterr)
{
	if (s->value) {
		s->value->status = XP_FAILED;
		xp_inventory_kept(failure, s->value->evidence.artifact);
		xp_err_partial(failure, s->run->kind->record, s->value, PARTIAL_BUDGET, s->run->kind->shrink);
	}
	return xp_err_move(reterr, failure);
}

static void gone_is_failure(struct state *s, struct xp_err *failure)
{
	if (failure->code || s->window->end != XP_END_TARGET_GONE)
		return;
	if (!xp_target_check(s->target, failure))
		xp_fail(failure, XP_E_TARGET_EXITED, "process %u ended in the window", xp_target_pid(s->target));
}

static int conclude(struct state *s, void *collector_state, struct xp_err *failure, struct xp_err *reterr)
{
	const struct xp_inventory_kind *kind = s->run->kind;
	xp_auto_err err = { 0 };
	void *value;

	if (kind->effects)
		kind->effects(collector_state, &s->window->cost);
	gone_is_failure(s, failure);
	if (kind->finish(collector_state, s->window, s->session->arena, &value, &err)) {
		if (!failure->code)
			xp_err_move(failure, &err);
		return fail_with_partial(s, failure, reterr);
	}
	s->value = value;
	fill_head(s);
	if (write_files(s, &err)) {
		if (failure->code)
			xp_err_detail(&err, "original_error_code", json_string(xp_err_name(failure->code)));
		xp_err_move(failure, &err);
	}
	if (failure->code)
		return fail_with_partial(s, failure, reterr);
	s->session->value = value;
	s->session->record = kind->record;
	s->session->shrink = kind->shrink;
	s->session->budget = s->run->request.full_evidence ? 0 : RESULT_BUDGET;
	s->session->human = kind->report;
	return 0;
}

static int run_window(struct state *s, void *collector_state, struct xp_err *reterr)
{
	struct xp_collector collector = { .ops = s->run->kind->ops, .state = collector_state };
	struct xp_window_bounds bounds = {
		.duration_ms = s->run->request.duration_ms,
		.timeout_ms = s->run->request.timeout_ms,
		.max_cost = s->run->max_cost,
	};
	xp_auto_err failure = { 0 };

	xp_measure_progress(&bounds, xp_flag_on(s->session, "--non-interactive"));
	xp_window_run(&collector, 1, s->target, &bounds, s->window, &failure);
	xp_measure_progress_end(&bounds);
	xp_err_done(&collector.err);
	if (s->window->opened)
		return conclude(s, collector_state, &failure, reterr);
	if (failure.code)
		return xp_err_move(reterr, &failure);
	int rc = xp_fail(reterr, XP_E_CANCELLED, "a signal ended the command before the window opened");
	xp_err_detail(reterr, "cancelled", json_true());
	return rc;
}

/* A refused call is told as `doctor` tells it: what it was about, and the smallest change (contract 15.3). */
static void explain_refusal(struct xp_err *err, struct xp_arena *arena)
{
	enum xp_feature_id id = strcmp(err->call, "perf_event_open") ? XP_FEATURE_SYSCALL_TRACE : XP_FEATURE_CPU_SAMPLE;
	struct xp_feature feature;

	if (err->code != XP_E_PERMISSION_DENIED || (id == XP_FEATURE_SYSCALL_TRACE && strncmp(err->call, "bpf(", 4) != 0))
		return;
	xp_feature_try(id, arena, &feature);
	if (!feature.call || strcmp(feature.call, err->call) != 0)
		return;
	if (feature.object)
		xp_err_object(err, "%s", feature.object);
	if (feature.unblock)
		xp_err_hint(err, "%s", feature.unblock);
}

static void target_close(void *target)
{
	xp_target_close(target);
}

int xp_inventory_measure(struct xp_session *session, const struct xp_inventory_run *run, struct xp_err *reterr)
{
	struct state s = { .session = session, .run = run, .window = xp_arena_new_of(session->arena, struct xp_window) };
	void *collector_state;
	int rc = xp_artifact_folder_check(reterr);

	if (!rc)
		rc = xp_target_open(run->target.pid, run->identity_given ? &run->target : NULL, &s.target, reterr);
	if (rc)
		return rc;
	xp_arena_defer(session->arena, target_close, s.target);
	rc = run->kind->open(&run->request, s.target, session->arena, &collector_state, reterr);
	if (!rc) {
		rc = run_window(&s, collector_state, reterr);
		run->kind->free(collector_state);
	}
	if (rc)
		explain_refusal(reterr, session->arena);
	return rc;
}

int xp_inventory_of_spec(struct xp_session *session, const char *flag, const char *threads, struct xp_inventory_run *run,
			 struct xp_err *reterr)
{
	const struct xp_flag_use *cost = xp_flag_find(session, "--max-cost");
	int rc = xp_inventory_of_flag(flag, &run->kind, reterr);

	run->identity_given = true;
	run->max_cost = cost ? cost->share : 0.05;
	run->request.full_evidence = !strcmp(xp_flag_text(session, "--evidence", "summary"), "full");
	if (!rc)
		rc = xp_inventory_threads(threads, session->arena, &run->request, reterr);
	if (!rc)
		rc = xp_inventory_output(session, run, reterr);
	return rc ? rc : xp_inventory_measure(session, run, reterr);
}
