/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of warnings and issues, and their field tables. No state. */
#include "base/note.h"

#include <stdio.h>
#include <string.h>

static const char *const severity_names[XP_SEVERITY_COUNT] = { [XP_INFO] = "info", [XP_CAUTION] = "caution" };
static const char *const verdict_names[XP_VERDICT_COUNT] = { [XP_GOOD] = "good", [XP_CAUTIOUS] = "caution" };
const char *const xp_status_names[XP_STATUS_COUNT] = {
	[XP_COMPLETED] = "completed",
	[XP_TIMED_OUT] = "timed_out",
	[XP_CANCELLED] = "cancelled",
	[XP_FAILED] = "failed",
};

static const struct xp_field warning_fields[] = {
	XP_FIELD(xp_warning, code, STR, "stable code, contract 1.6"),
	XP_FIELD(xp_warning, message, STR, "one sentence for people"),
	XP_FIELD(xp_warning, details, JSON, "machine part", .flags = XP_OPEN_OBJECT),
};
const struct xp_record xp_warning_record = XP_RECORD("Warning", xp_warning, warning_fields, "something the reader must know, not an error");

static const struct xp_field issue_fields[] = {
	XP_FIELD(xp_issue, code, STR, "stable code, contract 13"),
	XP_FIELD_ENUM(xp_issue, severity, severity_names, "caution makes the verdict caution"),
	XP_FIELD(xp_issue, message, STR, "one sentence for people"),
	XP_FIELD(xp_issue, details, JSON, "machine part", .flags = XP_OPEN_OBJECT),
};
const struct xp_record xp_issue_record = XP_RECORD("QualityIssue", xp_issue, issue_fields, "a doubt about the result");

static const struct xp_field quality_fields[] = {
	XP_FIELD_ENUM(xp_quality, verdict, verdict_names, "caution when any issue has severity caution"),
	XP_FIELD_LIST(xp_quality, issues, &xp_issue_record, "every doubt, in the order of contract 13"),
};
const struct xp_record xp_quality_record = XP_RECORD("Quality", xp_quality, quality_fields, "how far the result can be trusted");

/* Doubles the array when it is full. */
static void *grown(struct xp_arena *arena, void *old, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return old;
	size_t more = *cap ? *cap * 2 : 8;
	void *bigger = xp_arena_zalloc(arena, more * size);
	if (n)
		memcpy(bigger, old, n * size);
	*cap = more;
	return bigger;
}

static json_t *kept(struct xp_arena *arena, json_t *details)
{
	if (details)
		xp_arena_defer(arena, (void (*)(void *))json_decref, details);
	return details;
}

static const char *formatted(struct xp_arena *arena, const char *fmt, va_list ap)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, ap);
	return xp_arena_str(arena, text);
}

void xp_warn(struct xp_warnings *list, const char *code, json_t *details, const char *fmt, ...)
{
	va_list ap;

	list->at = grown(list->arena, list->at, list->n, &list->cap, sizeof(*list->at));
	va_start(ap, fmt);
	list->at[list->n++] = (struct xp_warning){
		.code = code,
		.message = formatted(list->arena, fmt, ap),
		.details = kept(list->arena, details),
	};
	va_end(ap);
}

void xp_issue_add(struct xp_issues *list, const char *code, enum xp_severity severity, json_t *details, const char *fmt, ...)
{
	va_list ap;

	list->at = grown(list->arena, list->at, list->n, &list->cap, sizeof(*list->at));
	va_start(ap, fmt);
	list->at[list->n++] = (struct xp_issue){
		.code = code,
		.severity = severity,
		.message = formatted(list->arena, fmt, ap),
		.details = kept(list->arena, details),
	};
	va_end(ap);
}

bool xp_warnings_have(const struct xp_warnings *list, const char *code)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->at[i].code, code))
			return true;
	return false;
}

struct xp_quality xp_quality_of(const struct xp_issues *issues)
{
	struct xp_quality quality = { .verdict = XP_GOOD, .issues = issues->at, .n_issues = issues->n };

	for (size_t i = 0; i < issues->n; i++)
		if (issues->at[i].severity == XP_CAUTION)
			quality.verdict = XP_CAUTIOUS;
	return quality;
}
