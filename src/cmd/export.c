/* SPDX-License-Identifier: Apache-2.0 */
/* `export` (hidden, contract 7): completed captures merged into one file of another format. Out: TraceExportResult. */
#include "cmd/export.h"

#include "cmd/input.h"
#include "output/output.h"

static const struct xp_field export_fields[] = {
	XP_FIELD_CONST("schema_version", "2.0", "version of this record"),
	XP_FIELD_TRUE("ok", "the command succeeded"),
	XP_FIELD(xp_export, format, STR, "format of the file"),
	XP_FIELD(xp_export, output, STR, "absolute path of the file"),
	XP_FIELD(xp_export, event_count, U64, "Events in the file"),
};
const struct xp_record xp_export_record = XP_RECORD("TraceExportResult", xp_export, export_fields, "a capture in another format");

static const struct xp_flag flags[] = {
	{ .name = "--input",
	  .kind = XP_FLAG_TEXT,
	  .value = "FILE",
	  .repeatable = true,
	  .doc = "completed capture: Event JSONL, host capture, CUPTI file (repeatable, 64 files of 4 GiB)" },
	{ .name = "--format", .kind = XP_FLAG_TEXT, .value = "FORMAT", .doc = "jsonl or chrome" },
	{ .name = "--output", .kind = XP_FLAG_TEXT, .value = "PATH", .doc = "file to write" },
};

static int check_flags(const struct xp_session *session, struct xp_err *reterr)
{
	for (size_t i = 0; i < XP_LEN(flags); i++)
		if (!xp_flag_on(session, flags[i].name))
			return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "%s is required", flags[i].name);
	return 0;
}

static int write_file(struct xp_session *session, const struct xp_output *output, struct xp_store *store, struct xp_artifact *ret_artifact,
		      struct xp_err *reterr)
{
	const struct xp_output_input input = { .store = store, .session_id = session->session_id, .stop = xp_input_interrupted };
	struct xp_artifact_file *file;
	int rc = xp_artifact_open(xp_flag_text(session, "--output", NULL), &file, reterr);

	return rc ? rc : xp_output_file(output, &input, file, session->arena, ret_artifact, reterr);
}

static int run(struct xp_session *session, struct xp_err *reterr)
{
	const struct xp_input_options options = { .max_events = XP_INPUT_EVENTS_MAX, .stop = xp_input_interrupted };
	xp_auto(xp_store_free) struct xp_store *store = NULL;
	struct xp_input_summary summary;
	struct xp_artifact artifact;
	const struct xp_output *output;
	int rc = check_flags(session, reterr);

	if (!rc)
		rc = xp_output_choose(xp_flag_text(session, "--format", NULL), "jsonl", XP_TAKES_EVENTS, &output, reterr);
	if (!rc)
		rc = xp_artifact_check_destination(xp_flag_text(session, "--output", NULL), reterr);
	if (!rc)
		rc = xp_input_from_flags(session, &options, &store, &summary, reterr);
	if (!rc)
		rc = xp_input_judge(&summary, options.max_events, reterr);
	if (!rc)
		rc = write_file(session, output, store, &artifact, reterr);
	if (rc)
		return rc;
	struct xp_export *result = xp_arena_new_of(session->arena, struct xp_export);
	*result = (struct xp_export){ .format = artifact.format, .output = artifact.path, .event_count = artifact.event_count.v };
	session->record = &xp_export_record;
	session->value = result;
	return 0;
}

const struct xp_command xp_command_export = {
	.name = "export",
	.summary = "completed captures merged into one file",
	.usage = "  xprobe export --input FILE... --format jsonl|chrome --output PATH\n",
	.flags = flags,
	.n_flags = XP_LEN(flags),
	.hidden = true,
	.captures = true, /* a signal must not end the process between temporary and final name */
	.run = run,
};
