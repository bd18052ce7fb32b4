/* SPDX-License-Identifier: Apache-2.0 */
/* `validate` for inventories and their specs: rights tried, nothing attached to the target. No state. */
#include "cmd/validate.h"

#include <string.h>

#include "cmd/inventory_run.h"
#include "engine/engine.h"
#include "inventory/syscalls_spec.h"
#include "inventory/thread_filter.h"

static void feature_issues(struct xp_syscalls_validation *value, const struct xp_feature *features, size_t n, struct xp_arena *arena)
{
	struct xp_plan_issue *issues = xp_arena_array(arena, struct xp_plan_issue, n);

	for (size_t i = 0; i < n; i++) {
		issues[i].code = xp_err_name(XP_E_PERMISSION_DENIED);
		issues[i].message =
			xp_arena_fmt(arena, "%s is not available: %s%s%s", features[i].feature, features[i].call ? features[i].call : "",
				     features[i].errno_name ? " gave " : "", features[i].errno_name ? features[i].errno_name : "");
	}
	value->issues = issues;
	value->n_issues = n;
	value->features = features;
	value->n_features = n;
	value->valid = n == 0;
	value->ebpf.status = n ? features[0].status : XP_FEATURE_AVAILABLE;
	value->ebpf.detail = n ? issues[0].message : NULL;
}

static void report(const void *value, struct xp_text *out, bool color)
{
	const struct xp_syscalls_validation *v = value;

	(void)color;
	xp_text_fmt(out, "%s: system calls of process %u\n", v->valid ? "can be measured" : "cannot be measured now", v->target.pid);
	for (size_t i = 0; i < v->n_features; i++)
		xp_text_fmt(out, "  missing %s%s%s\n", v->features[i].feature, v->features[i].unblock ? ": " : "",
			    v->features[i].unblock ? v->features[i].unblock : "");
}

static int validate_syscalls(struct xp_session *session, const struct xp_target_id *expected, uint32_t pid,
			     const struct xp_inventory_request *request, struct xp_err *reterr)
{
	struct xp_syscalls_validation *value = xp_arena_new_of(session->arena, struct xp_syscalls_validation);
	xp_auto(xp_target_close) struct xp_target *target = NULL;
	struct xp_feature *features;
	size_t n;

	int rc = xp_target_open(pid, expected, &target, reterr);
	if (!rc && request->threads)
		rc = xp_thread_filter_check(request, target, session->arena, reterr);
	if (!rc)
		rc = xp_rights_check(xp_engine_bpf_syscalls.needs, session->arena, &features, &n, reterr);
	if (!rc)
		rc = xp_target_check(target, reterr);
	if (rc)
		return rc;
	value->target = *xp_target_identity(target);
	feature_issues(value, features, n, session->arena);
	session->value = value;
	session->record = &xp_syscalls_validation_record;
	session->human = report;
	return 0;
}

int xp_validate_inventory(struct xp_session *session, const char *flag, struct xp_err *reterr)
{
	const struct xp_inventory_kind *kind;
	struct xp_inventory_request request = { 0 };
	uint32_t pid;
	int rc = xp_inventory_of_flag(flag, &kind, reterr);

	if (!rc)
		rc = xp_measure_pid(session, &pid, reterr);
	if (!rc)
		rc = xp_inventory_threads(xp_flag_text(session, "--threads", NULL), session->arena, &request, reterr);
	if (rc)
		return rc;
	return strcmp(flag, "--cpu-sample") ? validate_syscalls(session, NULL, pid, &request, reterr)
					    : xp_validate_cpu(session, NULL, pid, &request, xp_flag_on(session, "--off-cpu"), reterr);
}

int xp_validate_other_spec(struct xp_session *session, enum xp_spec_kind kind, const json_t *document, struct xp_err *reterr)
{
	struct xp_inventory_request request = { 0 };
	struct xp_syscalls_spec spec;

	if (kind == XP_SPEC_CPU)
		return xp_validate_cpu_spec(session, document, reterr);
	if (kind == XP_SPEC_GRAPH)
		return xp_validate_graph_spec(session, document, reterr);
	int rc = xp_syscalls_spec_read(document, session->arena, &spec, reterr);
	if (!rc)
		rc = xp_inventory_threads(spec.threads, session->arena, &request, reterr);
	return rc ? rc : validate_syscalls(session, &spec.target, spec.target.pid, &request, reterr);
}
