// SPDX-License-Identifier: Apache-2.0
/* Sources of a triage and the reasons why one is not there. No state. */
#include "triage/source.h"

#include <errno.h>

const char *const xp_source_names[XP_SOURCE_COUNT] = {
	[XP_SOURCE_THREADS] = "threads",	   [XP_SOURCE_CGROUP] = "cgroup",	    [XP_SOURCE_CPU_SAMPLES] = "cpu_samples",
	[XP_SOURCE_OFF_CPU] = "off_cpu",	   [XP_SOURCE_SYSCALLS] = "syscalls",	    [XP_SOURCE_GPU] = "gpu",
	[XP_SOURCE_CUDA_KERNELS] = "cuda_kernels", [XP_SOURCE_CUDA_COPIES] = "cuda_copies",
};
const char *const xp_source_status_names[XP_SOURCE_STATUS_COUNT] = {
	[XP_SOURCE_AVAILABLE] = "available",
	[XP_SOURCE_UNAVAILABLE] = "unavailable",
};
const char *const xp_source_reason_names[XP_REASON_COUNT] = {
	[XP_REASON_NOT_PERMITTED] = "not_permitted",
	[XP_REASON_ABSENT] = "absent",
	[XP_REASON_CAPACITY] = "capacity",
	[XP_REASON_NOT_CUDA] = "not_cuda",
	[XP_REASON_NO_CONTEXT] = "no_context",
	[XP_REASON_TARGET_BUSY] = "target_busy",
	[XP_REASON_CUPTI_BUSY] = "cupti_busy",
	[XP_REASON_COLLECTION_DEAD] = "collection_dead",
	[XP_REASON_TIMEOUT] = "timeout",
	[XP_REASON_UNSUPPORTED] = "unsupported",
	[XP_REASON_FAILED] = "failed",
};

static const struct xp_field source_fields[] = {
	XP_FIELD(xp_triage_source, name, STR, "one of the eight sources"),
	XP_FIELD_ENUM(xp_triage_source, status, xp_source_status_names, "whether its numbers were used"),
	XP_FIELD_ENUM(xp_triage_source, reason, xp_source_reason_names, "why not; null when available", .flags = XP_NULLABLE),
	XP_FIELD(xp_triage_source, detail, STR, "one sentence", .flags = XP_NULLABLE),
	XP_FIELD(xp_triage_source, call, STR, "call that failed", .flags = XP_NULLABLE),
	XP_FIELD_AS(xp_triage_source, "errno", errno_name, STR, "its symbolic errno", .flags = XP_NULLABLE),
	XP_FIELD(xp_triage_source, object, STR, "what the call was about", .flags = XP_NULLABLE),
	XP_FIELD_PTR(xp_triage_source, artifact, &xp_json_artifact_record, "everything the source saw", .flags = XP_NULLABLE),
	XP_FIELD_LIST(xp_triage_source, issues, &xp_issue_record, "doubts about this source"),
};
const struct xp_record xp_triage_source_record =
	XP_RECORD("TriageSource", xp_triage_source, source_fields, "one source of a triage, available or not and why");

struct xp_triage_source xp_source_available(enum xp_source_id id)
{
	return (struct xp_triage_source){ .name = xp_source_names[id], .status = XP_SOURCE_AVAILABLE, .reason = XP_REASON_NONE };
}

struct xp_triage_source xp_source_unavailable(enum xp_source_id id, enum xp_source_reason reason, const char *detail)
{
	return (struct xp_triage_source){
		.name = xp_source_names[id],
		.status = XP_SOURCE_UNAVAILABLE,
		.reason = reason,
		.detail = detail,
	};
}

static enum xp_source_reason reason_of(const struct xp_err *err)
{
	static const struct {
		enum xp_err_code code;
		enum xp_source_reason reason;
	} rows[] = {
		{ XP_E_PERMISSION_DENIED, XP_REASON_NOT_PERMITTED },
		{ XP_E_EVENT_RATE_TOO_HIGH, XP_REASON_CAPACITY },
		{ XP_E_EVENTS_DROPPED, XP_REASON_CAPACITY },
		{ XP_E_RESOURCE_LIMIT, XP_REASON_CAPACITY },
		{ XP_E_CUDA_CONTEXT_NOT_FOUND, XP_REASON_NO_CONTEXT },
		{ XP_E_CUPTI_NOT_AVAILABLE, XP_REASON_ABSENT },
		{ XP_E_TARGET_BUSY, XP_REASON_TARGET_BUSY },
		{ XP_E_CUPTI_BUSY, XP_REASON_CUPTI_BUSY },
		{ XP_E_COLLECTION_DEAD, XP_REASON_COLLECTION_DEAD },
		{ XP_E_SESSION_LIMIT_EXCEEDED, XP_REASON_TIMEOUT },
		{ XP_E_UNSUPPORTED_CUDA_VERSION, XP_REASON_UNSUPPORTED },
	};

	if (err->code == XP_E_CUDA_CONTEXT_NOT_FOUND && err->sys_errno == ENOENT)
		return XP_REASON_NOT_CUDA;
	if (err->code == XP_E_UNSUPPORTED_TARGET)
		return err->sys_errno == ENOENT ? XP_REASON_ABSENT : XP_REASON_UNSUPPORTED;
	for (size_t i = 0; i < XP_LEN(rows); i++)
		if (rows[i].code == err->code)
			return rows[i].reason;
	return XP_REASON_FAILED;
}

static const char *kept(struct xp_arena *arena, const char *text)
{
	return *text ? xp_arena_str(arena, text) : NULL;
}

struct xp_triage_source xp_source_failed(enum xp_source_id id, const struct xp_err *err, struct xp_arena *arena)
{
	struct xp_triage_source source = xp_source_unavailable(id, reason_of(err), kept(arena, err->message));
	const char *hint = json_string_value(json_array_get(err->hints, 0));

	source.call = kept(arena, err->call);
	source.errno_name = kept(arena, err->errno_text);
	source.object = kept(arena, err->object);
	source.unblock = hint ? xp_arena_str(arena, hint) : NULL;
	return source;
}
