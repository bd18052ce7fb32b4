/* SPDX-License-Identifier: Apache-2.0 */
/* `validate --cpu-sample` and CPU specs: rights tried on xprobe itself, Python looked for, nothing attached to the target. No state. */
#include "cmd/inventory_run.h"
#include "cmd/validate.h"
#include "elf/python.h"
#include "engine/bpf_sample.h"
#include "family/family.h"
#include "inventory/cpu_samples_spec.h"
#include "inventory/thread_filter.h"

static const char *sentence(const struct xp_feature *feature, struct xp_arena *arena)
{
	return xp_arena_fmt(arena, "%s is not available: %s%s%s", feature->feature, feature->call ? feature->call : "",
			    feature->errno_name ? " gave " : "", feature->errno_name ? feature->errno_name : "");
}

struct rights {
	struct xp_feature sample, kernel, python, off_cpu;
};

static void add_missing(struct xp_cpu_validation *value, struct xp_feature *features, const struct xp_feature *feature)
{
	if (feature->status == XP_FEATURE_AVAILABLE)
		return;
	features[value->n_features++] = *feature;
}

/* Samples are the one thing that is required; without kernel frames or Python the result says what it lacks. */
static void judge(struct xp_cpu_validation *value, const struct rights *rights, bool off_cpu, bool python, struct xp_arena *arena)
{
	struct xp_feature *features = xp_arena_array(arena, struct xp_feature, 4);
	struct xp_plan_issue *issues = xp_arena_array(arena, struct xp_plan_issue, 2);
	bool sampled = rights->sample.status == XP_FEATURE_AVAILABLE;

	value->perf_event.status = rights->sample.status;
	value->perf_event.detail = sampled ? NULL : sentence(&rights->sample, arena);
	add_missing(value, features, &rights->sample);
	add_missing(value, features, &rights->kernel);
	if (python)
		add_missing(value, features, &rights->python);
	if (!sampled)
		issues[value->n_issues++] =
			(struct xp_plan_issue){ .code = xp_err_name(XP_E_PERMISSION_DENIED), .message = value->perf_event.detail };
	if (off_cpu) {
		struct xp_feature *feature = xp_arena_new_of(arena, struct xp_feature);

		*feature = rights->off_cpu;
		value->off_cpu = feature;
		add_missing(value, features, feature);
		if (feature->status != XP_FEATURE_AVAILABLE)
			issues[value->n_issues++] =
				(struct xp_plan_issue){ .code = xp_err_name(XP_E_PERMISSION_DENIED), .message = sentence(feature, arena) };
	}
	value->kernel_frames = rights->kernel.status == XP_FEATURE_AVAILABLE || rights->kernel.status == XP_FEATURE_RESTRICTED;
	value->features = features;
	value->issues = issues;
	value->valid = value->n_issues == 0;
}

static int look_for_python(struct xp_session *session, struct xp_target *target, struct xp_cpu_validation *value, struct xp_err *reterr)
{
	xp_auto(xp_python_free) struct xp_python *python = NULL;
	int rc = xp_python_open(target, &python, reterr);

	if (rc)
		return rc;
	value->python_status = (int)xp_python_status(python);
	if (value->python_status == XP_PYTHON_UNSUPPORTED)
		xp_warn(&session->warnings, "PYTHON_PERF_TRAMPOLINE_INACTIVE", NULL,
			"Python frames can't be read: %s; `python -X perf` (3.12 or newer) would give some",
			xp_python_why(python) ? xp_python_why(python) : "the layout of this build is not known");
	return 0;
}

static void report(const void *opaque, struct xp_text *out, bool color)
{
	const struct xp_cpu_validation *v = opaque;

	(void)color;
	xp_text_fmt(out, "%s: CPU samples of process %u, %u thread%s, Python %s, %s kernel frames\n",
		    v->valid ? "can be taken" : "cannot be taken now", v->target.pid, v->target_threads, v->target_threads == 1 ? "" : "s",
		    xp_python_status_names[v->python_status], v->kernel_frames ? "with" : "without");
	for (size_t i = 0; i < v->n_features; i++)
		xp_text_fmt(out, "  missing %s%s%s\n", v->features[i].feature, v->features[i].unblock ? ": " : "",
			    v->features[i].unblock ? v->features[i].unblock : "");
}

int xp_validate_cpu(struct xp_session *session, const struct xp_target_id *expected, uint32_t pid,
		    const struct xp_inventory_request *request, bool off_cpu, struct xp_err *reterr)
{
	struct xp_cpu_validation *value = xp_arena_new_of(session->arena, struct xp_cpu_validation);
	xp_auto(xp_target_close) struct xp_target *target = NULL;
	struct rights rights;
	uint32_t *tids;
	size_t n_tids;
	int rc = xp_target_open(pid, expected, &target, reterr);

	if (!rc && request->threads)
		rc = xp_thread_filter_check(request, target, session->arena, reterr);
	if (!rc)
		rc = look_for_python(session, target, value, reterr);
	if (!rc)
		rc = xp_target_threads(target, session->arena, &tids, &n_tids, reterr);
	if (rc)
		return rc;
	xp_feature_try(XP_FEATURE_CPU_SAMPLE, session->arena, &rights.sample);
	xp_feature_try(XP_FEATURE_KERNEL_STACKS, session->arena, &rights.kernel);
	xp_feature_try(XP_FEATURE_PYTHON_FRAMES, session->arena, &rights.python);
	if (off_cpu)
		xp_feature_try(XP_FEATURE_OFF_CPU, session->arena, &rights.off_cpu);
	value->target = *xp_target_identity(target);
	value->target_threads = (uint32_t)n_tids;
	/* What Python frames need is what the sampling program needs: the right to load it, and clocks of whole CPUs. */
	value->sampler = rights.python.status == XP_FEATURE_AVAILABLE ? XP_SAMPLER_BPF : XP_SAMPLER_PERF_RING;
	judge(value, &rights, off_cpu, value->python_status == XP_PYTHON_ACTIVE, session->arena);
	value->warnings = session->warnings.at;
	value->n_warnings = session->warnings.n;
	rc = xp_target_check(target, reterr);
	if (rc)
		return rc;
	session->value = value;
	session->record = &xp_cpu_validation_record;
	session->human = report;
	return 0;
}

int xp_validate_cpu_spec(struct xp_session *session, const json_t *document, struct xp_err *reterr)
{
	struct xp_inventory_request request = { 0 };
	struct xp_cpu_spec spec;
	int rc = xp_cpu_spec_read(document, session->arena, &spec, reterr);

	if (!rc)
		rc = xp_inventory_threads(spec.threads, session->arena, &request, reterr);
	return rc ? rc : xp_validate_cpu(session, &spec.target, spec.target.pid, &request, spec.off_cpu.set && spec.off_cpu.v, reterr);
}
