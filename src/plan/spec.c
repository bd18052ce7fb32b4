/* SPDX-License-Identifier: Apache-2.0 */
/* Spec files: reading, telling kinds apart, bounds. In: a path. Out: values. No state. */
#include "plan/spec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SPEC_MAX_BYTES = 1024 * 1024 };

static const char *const mode_names[XP_MODE_COUNT] = { [XP_MODE_EXACT] = "exact", [XP_MODE_AGGREGATE] = "aggregate" };

static const struct xp_field spec_fields[] = {
	XP_FIELD_CONST("schema_version", "2.0", "version of this record"),
	XP_FIELD(xp_measurement_spec, name, STR, "copied into the result, at most 256 bytes", .flags = XP_NULLABLE),
	XP_FIELD_OBJ(xp_measurement_spec, target, &xp_target_id_record, "must fit at run time, else TARGET_REUSED"),
	XP_FIELD(xp_measurement_spec, start_selector, STR, "selector of the start event"),
	XP_FIELD(xp_measurement_spec, end_selector, STR, "selector of the end event"),
	XP_FIELD_ENUM(xp_measurement_spec, match_policy, xp_policy_names, "how starts and ends are paired"),
	XP_FIELD(xp_measurement_spec, samples, OPT_U64, "stop after that many pairs; null: no such bound"),
	XP_FIELD(xp_measurement_spec, duration_ms, OPT_U64, "length of the window; null: no such bound"),
	XP_FIELD(xp_measurement_spec, timeout_ms, U64, "bound of attach and window"),
	XP_FIELD(xp_measurement_spec, max_events, OPT_U64, "capacity of the capture; required in exact mode", .flags = XP_OPTIONAL),
	XP_FIELD_ENUM(xp_measurement_spec, measurement_mode, mode_names, "absent: exact", .flags = XP_OPTIONAL),
	XP_FIELD(xp_measurement_spec, max_groups, OPT_U64, "required in aggregate mode, refused in exact", .flags = XP_OPTIONAL),
	XP_FIELD(xp_measurement_spec, max_cost, OPT_F64, "as --max-cost", .flags = XP_OPTIONAL),
	XP_FIELD(xp_measurement_spec, allow_cxx_return, OPT_BOOL, "as --allow-cxx-return", .flags = XP_OPTIONAL),
	XP_FIELD(xp_measurement_spec, records_only, OPT_BOOL, "as --records-only", .flags = XP_OPTIONAL),
};
const struct xp_record xp_measurement_spec_record =
	XP_RECORD("MeasurementSpec", xp_measurement_spec, spec_fields, "one measurement, as `measure --spec` takes it", .closed = true);

static int unreadable(const char *path, int errnum, const char *call, struct xp_err *reterr)
{
	int rc = xp_fail_call(reterr, XP_E_TRACE_EXPORT_FAILED, errnum, call, "%s", path);

	xp_err_say(reterr, "the spec file %s cannot be read: %s", path, strerror(errnum));
	return rc;
}

static int read_file(const char *path, struct xp_text *out, struct xp_err *reterr)
{
	struct stat st;
	char chunk[65536];
	xp_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return unreadable(path, errno, "open", reterr);
	if (fstat(fd, &st))
		return unreadable(path, errno, "fstat", reterr);
	if (!S_ISREG(st.st_mode)) {
		int rc = xp_fail(reterr, XP_E_TRACE_EXPORT_FAILED, "the spec %s is not a regular file", path);

		xp_err_object(reterr, "%s", path);
		return rc;
	}
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return unreadable(path, errno, "read", reterr);
		if (!n)
			return 0;
		xp_text_add(out, chunk, (size_t)n);
		if (out->len > SPEC_MAX_BYTES) {
			int rc = xp_fail(reterr, XP_E_SESSION_LIMIT_EXCEEDED, "the spec %s is larger than 1 MiB", path);

			xp_err_object(reterr, "%s", path);
			xp_err_limit(reterr, "spec", out->len, 1, SPEC_MAX_BYTES);
			return rc;
		}
	}
}

int xp_spec_load(const char *path, enum xp_spec_kind *ret_kind, json_t **ret_document, struct xp_err *reterr)
{
	static const char *const keys[XP_SPEC_KIND_COUNT] = {
		[XP_SPEC_MEASUREMENT] = "start_selector",
		[XP_SPEC_GRAPH] = "edges",
		[XP_SPEC_CPU] = "sample_event",
		[XP_SPEC_SYSCALLS] = "max_inflight",
	};
	xp_auto_builder text = { 0 };
	char why[200];

	int rc = read_file(path, &text, reterr);
	if (rc)
		return rc;
	json_t *document = xp_json_parse(text.data ? text.data : "", text.len, why, sizeof(why));
	if (!document) {
		rc = xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR, "the spec is not JSON: %s", why);
		xp_err_object(reterr, "%s", path);
		return rc;
	}
	for (int kind = 0; kind < XP_SPEC_KIND_COUNT; kind++) {
		if (!json_object_get(document, keys[kind]))
			continue;
		*ret_kind = (enum xp_spec_kind)kind;
		*ret_document = document;
		return 0;
	}
	json_decref(document);
	rc = xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR, "the document is not a spec of any known kind");
	xp_err_object(reterr, "%s", path);
	xp_err_hint(reterr, "a measurement spec has start_selector, a graph edges, a CPU spec sample_event, a syscall spec max_inflight");
	return rc;
}

int xp_spec_bound(const char *name, uint64_t value, uint64_t min, uint64_t max, struct xp_err *reterr)
{
	if (value >= min && value <= max)
		return 0;
	int rc = xp_fail(reterr, XP_E_SESSION_LIMIT_EXCEEDED, "%s is %llu; it must lie between %llu and %llu", name,
			 (unsigned long long)value, (unsigned long long)min, (unsigned long long)max);
	xp_err_object(reterr, "%s", name);
	xp_err_limit(reterr, name, value, min, max);
	return rc;
}

int xp_spec_share(const char *name, double value, struct xp_err *reterr)
{
	if (value >= 0 && value <= 1)
		return 0;
	int rc = xp_fail(reterr, XP_E_SESSION_LIMIT_EXCEEDED, "%s is %g; it must lie between 0 and 1", name, value);
	xp_err_object(reterr, "%s", name);
	xp_err_detail(reterr, "limit", json_pack("{s:s,s:f,s:f,s:f}", "name", name, "value", value, "minimum", 0.0, "maximum", 1.0));
	return rc;
}

static int missing_bound(const char *what, struct xp_err *reterr)
{
	return xp_fail(reterr, XP_E_SESSION_LIMIT_EXCEEDED, "%s", what);
}

static int check_bounds(const struct xp_measurement_spec *spec, struct xp_err *reterr)
{
	bool aggregate = spec->measurement_mode == XP_MODE_AGGREGATE;
	int rc = xp_spec_bound("timeout_ms", spec->timeout_ms, 1, 3600000, reterr);

	if (!rc && spec->samples.set)
		rc = xp_spec_bound("samples", spec->samples.v, 1, 10000000, reterr);
	if (!rc && spec->duration_ms.set)
		rc = xp_spec_bound("duration_ms", spec->duration_ms.v, 1, 3600000, reterr);
	if (!rc && spec->max_events.set)
		rc = xp_spec_bound("max_events", spec->max_events.v, 1, 50000000, reterr);
	if (!rc && spec->max_groups.set)
		rc = xp_spec_bound("max_groups", spec->max_groups.v, 1, 1048576, reterr);
	if (!rc && spec->max_cost.set)
		rc = xp_spec_share("max_cost", spec->max_cost.v, reterr);
	if (!rc && !spec->samples.set && !spec->duration_ms.set)
		rc = missing_bound("one of samples and duration_ms must be set", reterr);
	if (!rc && !aggregate && !spec->max_events.set)
		rc = missing_bound("max_events must be set in exact mode", reterr);
	if (!rc && aggregate && !spec->max_groups.set)
		rc = missing_bound("max_groups must be set in aggregate mode", reterr);
	if (!rc && aggregate && spec->duration_ms.set)
		rc = xp_spec_bound("duration_ms", spec->duration_ms.v, 1, spec->timeout_ms, reterr);
	return rc;
}

int xp_measurement_spec_read(const json_t *document, struct xp_arena *arena, struct xp_measurement_spec *ret_spec, struct xp_err *reterr)
{
	struct xp_measurement_spec spec;
	int rc = xp_record_read(&xp_measurement_spec_record, document, arena, XP_E_INVALID_EVENT_SELECTOR, &spec, reterr);

	if (rc)
		return rc;
	if (spec.measurement_mode != XP_MODE_AGGREGATE && spec.max_groups.set)
		return xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR, "max_groups is for aggregate mode only");
	if (spec.name && strlen(spec.name) > 256)
		return xp_spec_bound("name", strlen(spec.name), 0, 256, reterr);
	rc = check_bounds(&spec, reterr);
	if (!rc)
		*ret_spec = spec;
	return rc;
}
