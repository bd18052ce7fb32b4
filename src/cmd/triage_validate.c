// SPDX-License-Identifier: Apache-2.0
/* `validate --triage`: tries the right of each source; touches nothing in the target. No state. */
#include <string.h>

#include "cmd/measure.h"
#include "cmd/triage_cuda.h"
#include "cmd/validate.h"
#include "result/triage_validation.h"

static void report(const void *value, struct xp_text *out, bool color)
{
	const struct xp_triage_validation *v = value;

	xp_text_fmt(out, "process %u: %s\n", v->target.pid, v->valid ? "a triage can run" : "no source of a triage is available");
	for (size_t i = 0; i < v->n_sources; i++) {
		const struct xp_triage_check *check = &v->sources[i];
		const char *unblock = check->feature ? check->feature->unblock : NULL;

		xp_text_fmt(out, "  %-13s %s", check->name, xp_source_status_names[check->status]);
		if (check->status == XP_SOURCE_UNAVAILABLE)
			xp_text_fmt(out, ": %s%s%s", xp_source_reason_names[check->reason], unblock ? "; " : "", unblock ? unblock : "");
		xp_text_char(out, '\n');
	}
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
		for (int id = XP_SOURCE_CUDA_KERNELS; id <= XP_SOURCE_CUDA_COPIES; id++) {
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
	requirements->target_mutation = !cuda.loaded;
	requirements->agent_activation = cuda.loaded ? XP_AGENT_LOADED : XP_AGENT_INJECTION;
	if (!cuda.loaded)
		xp_warn(&session->warnings, "TARGET_PROCESS_WILL_BE_MODIFIED", NULL, "measure would inject the agent into process %u",
			xp_target_pid(target));
}

static bool would_have(const struct xp_triage_check *checks, enum xp_source_id id)
{
	return checks[id].status == XP_SOURCE_AVAILABLE;
}

int xp_validate_triage(struct xp_session *session, struct xp_err *reterr)
{
	struct xp_triage_validation *value = xp_arena_new_of(session->arena, struct xp_triage_validation);
	xp_auto(xp_target_close) struct xp_target *target = NULL;
	unsigned pids = 0;

	for (size_t i = 0; i < session->n_uses; i++)
		pids += !strcmp(session->uses[i].flag->name, "--pid");
	if (pids != 1 || xp_flag_on(session, "--tree"))
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, pids ? "this build triages one process at a time" : "--pid is missing");
	int rc = xp_target_open((uint32_t)xp_flag_u64(session, "--pid", 0), NULL, &target, reterr);
	if (rc)
		return rc;
	struct xp_triage_check *checks = check_sources(target, session->arena);

	value->sources = checks;
	value->n_sources = XP_SOURCE_COUNT;
	rc = xp_target_check(target, reterr);
	if (rc)
		return rc;
	value->target = *xp_target_identity(target);
	value->requirements.needs_ebpf = would_have(value->sources, XP_SOURCE_SYSCALLS) || would_have(value->sources, XP_SOURCE_OFF_CPU);
	value->requirements.needs_perf_event = would_have(value->sources, XP_SOURCE_CPU_SAMPLES);
	value->requirements.agent_activation = XP_AGENT_NOT_REQUIRED;
	check_cuda(session, target, checks, &value->requirements);
	xp_triage_validation_judge(value, session->arena);
	value->warnings = session->warnings.at;
	value->n_warnings = session->warnings.n;
	session->value = value;
	session->record = &xp_triage_validation_record;
	session->human = report;
	return 0;
}
