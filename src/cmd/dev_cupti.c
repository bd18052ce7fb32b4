/* SPDX-License-Identifier: Apache-2.0 */
/* `dev cupti`: one CUPTI capture file as Event lines on stdout, what its envelope says on stderr. No state. */
#include <stdio.h>
#include <string.h>

#include "cmd/dev.h"
#include "cmd/emit.h"
#include "cmd/input.h"
#include "output/output.h"
#include "result/event_record.h"

struct buffer {
	struct xp_text text;
};

static int flush(struct buffer *buffer, struct xp_err *reterr)
{
	size_t len = buffer->text.len;

	buffer->text.len = 0;
	if (len && !xp_emit_bytes(buffer->text.data, len))
		return xp_fail(reterr, XP_E_OUTPUT_FAILED, "stdout takes no more");
	return 0;
}

static int buffer_write(void *arg, const char *bytes, size_t len, struct xp_err *reterr)
{
	enum { FULL = 64 * 1024 };
	struct buffer *buffer = arg;

	xp_text_add(&buffer->text, bytes, len);
	return buffer->text.len < FULL ? 0 : flush(buffer, reterr);
}

static int print_events(const struct xp_output_input *input, struct xp_err *reterr)
{
	struct buffer buffer = { 0 };
	const struct xp_sink sink = { .write = buffer_write, .arg = &buffer };
	int rc = xp_output_find("jsonl")->write(input, &sink, reterr);

	if (!rc)
		rc = flush(&buffer, reterr);
	xp_text_done(&buffer.text);
	return rc;
}

static int run(struct xp_session *session, struct xp_err *reterr)
{
	const struct xp_input_options options = { .max_events = XP_INPUT_EVENTS_MAX };
	const char *session_id = xp_flag_text(session, "--session-id", "");
	xp_auto(xp_store_free) struct xp_store *store = NULL;
	struct xp_input_summary summary;

	if (!session_id[0] || strlen(session_id) > XP_SESSION_ID_MAX)
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--session-id takes 1 to 128 bytes and is required");
	int rc = xp_input_from_flags(session, &options, &store, &summary, reterr);
	if (rc)
		return rc;
	if (!summary.cupti.present) {
		rc = xp_fail(reterr, XP_E_TRACE_EXPORT_FAILED, "the input is not a CUPTI capture file");
		xp_err_object(reterr, "%.300s", xp_flag_text(session, "--input", ""));
		return rc;
	}
	const struct xp_output_input input = { .store = store, .session_id = session_id };
	session->printed = true;
	rc = print_events(&input, reterr);
	fprintf(stderr, "xprobe: %llu events, %llu dropped, %llu unknown records\n", (unsigned long long)summary.events,
		(unsigned long long)summary.cupti.dropped_records, (unsigned long long)summary.cupti.unknown_records);
	return rc;
}

const struct xp_dev_part xp_dev_cupti = { .word = "cupti", .mode = XP_DEV_CUPTI, .run = run };
