// SPDX-License-Identifier: Apache-2.0
/* `validate --triage`: tries the right of each source; touches nothing in the target. No state. */
#include <string.h>

#include "cmd/inventory_run.h"
#include "cmd/measure.h"
#include "cmd/triage_cuda.h"
#include "cmd/triage_targets.h"
#include "cmd/validate.h"
#include "result/triage_validation.h"
#include "target/gpu_files.h"

static void report(const void *value, struct xp_text *out, bool color)
{
	const struct xp_triage_validation *v = value;

	if (v->n_processes)
		xp_text_fmt(out, "%zu processes: ", v->n_processes);
	else
		xp_text_fmt(out, "process %u: ", v->target->pid);
	xp_text_fmt(out, "%s\n", v->valid ? "a triage can run" : "no source of a triage is available");
	for (size_t i = 0; i < v->n_sources; i++) {
		const struct xp_triage_check *check = &v->sources[i];
		const char *unblock = check->feature ? check->feature->unblock : NULL;

		xp_text_fmt(out, "  %-13s %s", check->name, xp_source_status_names[check->status]);
		if (check->status == XP_SOURCE_UNAVAILABLE)
			xp_text_fmt(out, ": %s%s%s", xp_source_reason_names[check->reason], unblock ? "; " : "", unblock ? unblock : "");
		xp_text_char(out, '\n');
	}
}

/* As the inventory would: no library says more than no CUDA in the target. */
static void check_gpu(const struct xp_target *target, struct xp_triage_check *check)
{
	const char *call = check->feature->call;
	struct xp_gpu_files files;

	xp_gpu_files_read(target, &files);
	if (check->status == XP_SOURCE_UNAVAILABLE && call && !strcmp(call, "dlopen"))
		check->reason = XP_REASON_ABSENT;
	else if (!files.libcuda && !files.device)
		*check = (struct xp_triage_check){ check->name, XP_SOURCE_UNAVAILABLE, XP_REASON_NOT_CUDA, NULL };
}

static struct xp_triage_check *check_sources(const struct xp_target *target, struct xp_arena *arena)
{
	struct xp_triage_check *checks = xp_arena_array(arena, struct xp_triage_check, XP_SOURCE_COUNT);

	for (int id = 0; id < XP_SOURCE_COUNT; id++) {
		struct xp_feature *feature = xp_arena_new_of(arena, struct xp_feature);

		if (!xp_triage_inventory(id) || (xp_triage_feeds[id].cuda && !xp_triage_maps_cuda(target))) {
			struct xp_triage_source absent = xp_triage_source_absent(id, target);

			checks[id] = (struct xp_triage_check){ .name = absent.name, .status = absent.status, .reason = absent.reason };
			continue;
		}
		xp_feature_try(xp_triage_feeds[id].feature, arena, feature);
		checks[id] = xp_triage_check_of(id, feature);
		if (id == XP_SOURCE_GPU)
			check_gpu(target, &checks[id]);
	}
	return checks;
}

/* The agent is looked for as a triage would; what refuses it there refuses both CUDA sources here. */
static void check_cuda(struct xp_session *session, struct xp_target *target, struct xp_triage_check *checks,
		       struct xp_triage_requirements *requirements)
{
	struct xp_cuda_window cuda;
	xp_auto_err err = { 0 };

	if (!xp_triage_maps_cuda(target))
		return;
	if (xp_triage_cuda_check(session, target, &cuda, &err)) {
		/* What another process has stands. */
		for (int id = XP_SOURCE_CUDA_KERNELS; id <= XP_SOURCE_CUDA_COPIES && !requirements->needs_cupti; id++) {
			struct xp_triage_source source = xp_source_failed(id, &err, session->arena);

			checks[id].status = source.status;
			checks[id].reason = source.reason;
		}
		return;
	}
	for (int id = XP_SOURCE_CUDA_KERNELS; id <= XP_SOURCE_CUDA_COPIES; id++) {
		checks[id].status = XP_SOURCE_AVAILABLE;
		checks[id].reason = XP_REASON_NONE;
	}
	requirements->needs_cupti = true;
	requirements->target_mutation |= !cuda.loaded;
	requirements->agent_activation = requirements->target_mutation ? XP_AGENT_INJECTION : XP_AGENT_LOADED;
	if (!cuda.loaded)
		xp_warn(&session->warnings, "TARGET_PROCESS_WILL_BE_MODIFIED", NULL, "measure would inject the agent into process %u",
			xp_target_pid(target));
}

static bool would_have(const struct xp_triage_check *checks, enum xp_source_id id)
{
	return checks[id].status == XP_SOURCE_AVAILABLE;
}

/* The process that says most about the CUDA sources. */
static struct xp_target *telling_target(const struct xp_triage_targets *targets)
{
	for (size_t i = 0; i < targets->n; i++)
		if (xp_triage_maps_cuda(targets->at[i]))
			return targets->at[i];
	return targets->at[0];
}

static int check_targets(const struct xp_triage_targets *targets, struct xp_err *reterr)
{
	int rc = 0;

	for (size_t i = 0; i < targets->n && !rc; i++)
		rc = xp_target_check(targets->at[i], reterr);
	return rc;
}

static void fill_targets(const struct xp_triage_choice *choice, const struct xp_triage_targets *targets, struct xp_arena *arena,
			 struct xp_triage_validation *value)
{
	struct xp_target_id *each = xp_arena_array(arena, struct xp_target_id, targets->n);

	for (size_t i = 0; i < targets->n; i++)
		each[i] = *xp_target_identity(targets->at[i]);
	if (!choice->tree && choice->n == 1) {
		value->target = each;
		return;
	}
	value->processes = each;
	value->n_processes = targets->n;
}

int xp_validate_triage(struct xp_session *session, struct xp_err *reterr)
{
	struct xp_triage_validation *value = xp_arena_new_of(session->arena, struct xp_triage_validation);
	struct xp_triage_targets targets;
	struct xp_inventory_request request = { 0 };
	struct xp_triage_choice choice;
	int rc = xp_triage_choose(session, &choice, reterr);

	if (!rc)
		rc = xp_inventory_threads(xp_flag_text(session, "--threads", NULL), session->arena, &request, reterr);
	if (!rc)
		rc = xp_triage_open_targets(&choice, session->arena, &targets, reterr);
	if (!rc)
		rc = xp_triage_check_threads(&request, &targets, session->arena, reterr);
	if (rc)
		return rc;
	struct xp_triage_check *checks = check_sources(telling_target(&targets), session->arena);

	value->sources = checks;
	value->n_sources = XP_SOURCE_COUNT;
	rc = check_targets(&targets, reterr);
	if (rc)
		return rc;
	fill_targets(&choice, &targets, session->arena, value);
	value->requirements.needs_ebpf = would_have(value->sources, XP_SOURCE_SYSCALLS) || would_have(value->sources, XP_SOURCE_OFF_CPU);
	value->requirements.needs_perf_event = would_have(value->sources, XP_SOURCE_CPU_SAMPLES);
	value->requirements.agent_activation = XP_AGENT_NOT_REQUIRED;
	for (size_t i = 0; i < targets.n; i++)
		check_cuda(session, targets.at[i], checks, &value->requirements);
	xp_triage_validation_judge(value, session->arena);
	value->warnings = session->warnings.at;
	value->n_warnings = session->warnings.n;
	session->value = value;
	session->record = &xp_triage_validation_record;
	session->human = report;
	return 0;
}
