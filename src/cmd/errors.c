/* SPDX-License-Identifier: Apache-2.0 */
/* The only table that knows exit status and advice, one row a code; and the error record. No state. */
#include "cmd/errors.h"

#include <string.h>

static const struct xp_error_row rows[XP_E_COUNT] = {
	[XP_E_NONE] = { 0, true, "no error", NULL },
	[XP_E_PERMISSION_DENIED] = { 4, true, "inspection, BPF, perf event, ptrace or a file of the target was refused",
				     "`xprobe doctor` tries each right and names the missing one" },
	[XP_E_TARGET_NOT_FOUND] = { 3, true, "no such pid at the first look",
				    "list processes with `ps -e` in the PID namespace of xprobe" },
	[XP_E_TARGET_EXITED] = { 3, true, "the process ended after the first look",
				 "start again with a pid that lives longer than the window" },
	[XP_E_TARGET_REUSED] = { 3, true, "the pid belongs to another process, or the identity of the spec does not fit",
				 "take a new triage: its specs carry the identity of the process that runs now" },
	[XP_E_AMBIGUOUS_TARGET] = { 1, true, "a symbol names several addresses, or two CUDA majors are possible",
				    "choose one of details.candidates" },
	[XP_E_SYMBOL_NOT_FOUND] = { 1, true, "no such defined function, offset outside a segment, tracepoint or marker absent",
				    "select by file offset (`+0x…`), or install the debug symbols of that file" },
	[XP_E_BINARY_NOT_MAPPED] = { 1, true, "the file of the selector is not mapped executable in the target",
				     "use a path from /proc/PID/maps of the target" },
	[XP_E_INVALID_EVENT_SELECTOR] = { 1, true, "selector grammar, regex, syscall name, missing selectors, malformed spec", NULL },
	[XP_E_INVALID_CORRELATION_POLICY] = { 1, true, "unknown or missing policy, or one that is not possible for the pair", NULL },
	[XP_E_CUPTI_NOT_AVAILABLE] = { 1, true, "agent or libcupti missing, NVML failed, arming refused", NULL },
	[XP_E_CUPTI_AGENT_NOT_LOADED] = { 1, true, "NVTX endpoints without an agent at start-up", NULL },
	[XP_E_CUDA_CONTEXT_NOT_FOUND] = { 1, true, "the target maps no libcuda or has no context", NULL },
	[XP_E_UNSUPPORTED_CUDA_VERSION] = { 1, false, "CUDA or CUPTI version not supported for this", NULL },
	[XP_E_EVENT_RATE_TOO_HIGH] = { 1, true, "max_events or max_groups filled; cost limit without a usable result",
				       "raise --max-events, choose a rarer event, or a shorter window" },
	[XP_E_SESSION_LIMIT_EXCEEDED] = { 1, true, "a bound is missing, zero or above its maximum, or probes were not ready in time",
					  NULL },
	[XP_E_NO_MATCHED_SAMPLES] = { 1, true, "no pair", NULL },
	[XP_E_HIGH_UNMATCHED_RATE] = { 1, true, "--max-unmatched was exceeded", NULL },
	[XP_E_EVENTS_DROPPED] = { 1, true, "events were lost between source and xprobe", "choose rarer events or a shorter window" },
	[XP_E_CLOCK_ALIGNMENT_FAILED] = { 1, true, "start and end are in clocks that cannot be subtracted", NULL },
	[XP_E_TRACE_EXPORT_FAILED] = { 1, true, "an input cannot be read or decoded, an artifact cannot be written", NULL },
	[XP_E_CLEANUP_FAILED] = { 1, false, "probes or agent could not be brought back to rest", NULL },
	[XP_E_INTERNAL] = { 1, false, "a defect: broken invariant or impossible kernel answer",
			    "please report this with the whole record" },
	[XP_E_INVALID_ARGUMENT] = { 2, true, "command line error", "see `xprobe --help` and `xprobe COMMAND --help`" },
	[XP_E_COLLECTION_DEAD] = { 1, true,
				   "launches were seen but not one activity, or CUPTI fell behind in three captures of the process", NULL },
	[XP_E_CUPTI_BUSY] = { 1, true, "another CUPTI subscriber owns the target's CUPTI", NULL },
	[XP_E_TARGET_BUSY] = { 1, true, "another session, a tracer, or a stopped target", NULL },
	[XP_E_UNSUPPORTED_TARGET] = { 1, false, "the agent cannot be placed in this program", NULL },
	[XP_E_PROBE_REFUSED] = { 1, true, "the address cannot be probed, or a probe there would harm the target",
				 "choose another function, or its entry" },
	[XP_E_RESOURCE_LIMIT] = { 1, true, "descriptors, locked memory or BPF memory", "raise the limit that details.object names" },
	[XP_E_OUTPUT_FAILED] = { 1, true, "stdout closed or full; told on stderr only", NULL },
	[XP_E_CANCELLED] = { 1, true, "a signal ended the command before there was any result", NULL },
};

const struct xp_error_row *xp_error_row(enum xp_err_code code)
{
	return &rows[(unsigned)code < XP_E_COUNT ? code : XP_E_INTERNAL];
}

static const struct xp_field body_fields[] = {
	XP_FIELD(xp_error_body, code, STR, "stable code, contract 1.5"),
	XP_FIELD(xp_error_body, message, STR, "one sentence for people; never parsed"),
	XP_FIELD(xp_error_body, recoverable, BOOL, "another input, bound, right or moment may succeed"),
	XP_FIELD(xp_error_body, details, JSON, "machine part, contract 1.4", .flags = XP_OPEN_OBJECT),
	XP_FIELD_STRS(xp_error_body, hints, "next steps, most useful first"),
};
static const struct xp_record body_record = XP_RECORD("ErrorBody", xp_error_body, body_fields, "what went wrong");

static const struct xp_field doc_fields[] = {
	XP_FIELD_CONST("schema_version", "2.0", "version of this record"),
	XP_FIELD_FALSE("ok", "always false"),
	XP_FIELD_OBJ(xp_error_doc, error, &body_record, "the error"),
};
const struct xp_record xp_error_record = XP_RECORD("Error", xp_error_doc, doc_fields, "the one document of a command that failed");

static void set_text(json_t *details, const char *key, const char *text)
{
	if (*text)
		json_object_set_new(details, key, xp_json_text(text));
}

static void add_hints(struct xp_error_body *body, const struct xp_err *err, struct xp_arena *arena)
{
	const char *advice = rows[err->code].advice;
	size_t n = json_array_size(err->hints);
	const char **hints = xp_arena_array(arena, const char *, n + 1);

	for (size_t i = 0; i < n; i++)
		hints[i] = json_string_value(json_array_get(err->hints, i));
	if (!n && advice)
		hints[n++] = advice;
	body->hints = hints;
	body->n_hints = n;
}

struct xp_error_doc xp_error_doc_make(const struct xp_err *err, struct xp_arena *arena)
{
	json_t *details = json_object();
	struct xp_error_doc doc = {
		.error = { .code = xp_err_name(err->code), .message = err->message, .recoverable = xp_error_row(err->code)->recoverable },
	};

	xp_arena_defer(arena, (void (*)(void *))json_decref, details);
	set_text(details, "call", err->call);
	set_text(details, "errno", err->errno_text);
	set_text(details, "object", err->object);
	if (err->details)
		json_object_update(details, err->details);
	doc.error.details = details;
	add_hints(&doc.error, err, arena);
	return doc;
}
