/* SPDX-License-Identifier: Apache-2.0 */
/* The two JSON forms of input: one Event per line, or one HostCaptureResult. In: an open file. Out: events added to the merge. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "result/host_capture.h"
#include "result/input_priv.h"

enum { LINE_MAX_BYTES = 1 << 20, CHUNK = 256 * 1024 };

/* Lines of a file, read in chunks. A line is valid until the next call. */
struct lines {
	const struct xp_input *in;
	struct xp_text buffer;
	size_t pos;	 /* start of the next line in buffer */
	uint64_t offset; /* file position behind buffer */
	uint64_t number;
};

static int fill(struct lines *lines, struct xp_err *reterr)
{
	char chunk[CHUNK];
	uint64_t left = lines->in->size - lines->offset;
	size_t n = left < sizeof(chunk) ? (size_t)left : sizeof(chunk);
	int rc = xp_input_pread(lines->in, chunk, n, lines->offset, reterr);

	if (rc)
		return rc;
	if (lines->pos) {
		memmove(lines->buffer.data, lines->buffer.data + lines->pos, lines->buffer.len - lines->pos);
		lines->buffer.len -= lines->pos;
		lines->pos = 0;
	}
	xp_text_add(&lines->buffer, chunk, n);
	lines->offset += n;
	return 0;
}

/* 1 and the line without its end, 0 at the end of the file, -code. A line above the cap is cut short: *ret_len is LINE_MAX_BYTES + 1. */
static int next_line(struct lines *lines, const char **ret_line, size_t *ret_len, struct xp_err *reterr)
{
	size_t scanned = 0;

	for (;;) {
		size_t have = lines->buffer.len - lines->pos;
		const char *start = have ? lines->buffer.data + lines->pos : "";
		const char *end = have > scanned ? memchr(start + scanned, '\n', have - scanned) : NULL;
		size_t len = end ? (size_t)(end - start) : have;

		if (end || len > LINE_MAX_BYTES || (lines->offset == lines->in->size && have)) {
			*ret_line = start;
			*ret_len = len > LINE_MAX_BYTES ? LINE_MAX_BYTES + 1 : len;
			lines->pos += end ? len + 1 : len;
			lines->number++;
			return 1;
		}
		if (lines->offset == lines->in->size)
			return 0;
		scanned = have;
		int rc = fill(lines, reterr);
		if (rc)
			return rc;
	}
}

static bool blank(const char *text, size_t len)
{
	return strspn(text, " \t\r\n") >= len;
}

static int add_event(struct xp_input *in, const json_t *value, uint64_t line, struct xp_err *reterr)
{
	xp_auto_err why = { 0 };
	struct xp_event_doc doc;
	struct xp_event event;
	int rc = xp_record_read(&xp_event_record, value, in->scratch, XP_E_TRACE_EXPORT_FAILED, &doc, &why);

	/* A full store gets no more side storage; the event is only counted. */
	if (!rc && xp_store_count(in->store) == xp_store_capacity(in->store))
		event = (struct xp_event){ .pid = doc.pid, .type = (uint8_t)doc.event_type };
	else if (!rc)
		rc = xp_event_from_doc(&doc, in->store, &event, &why);
	return rc ? xp_input_bad(in, line, reterr, "%s", why.message) : xp_input_add(in, &event, reterr);
}

static int add_line(struct xp_input *in, const char *text, size_t len, uint64_t line, struct xp_err *reterr)
{
	char why[160];

	if (len > LINE_MAX_BYTES)
		return xp_input_bad(in, line, reterr, "a line is longer than 1 MiB");
	if (blank(text, len))
		return 0;
	json_t *value = xp_json_parse(text, len, why, sizeof(why));
	if (!value)
		return xp_input_bad(in, line, reterr, "%s", why);
	int rc = add_event(in, value, line, reterr);
	json_decref(value);
	xp_arena_reset(in->scratch);
	return rc;
}

static int add_capture(struct xp_input *in, const struct xp_host_capture *capture, struct xp_err *reterr)
{
	if (capture->captured != capture->n_events)
		return xp_input_bad(in, 0, reterr, "it says %llu events and holds %zu", (unsigned long long)capture->captured,
				    capture->n_events);
	for (size_t i = 0; i < capture->n_events; i++) {
		xp_auto_err why = { 0 };
		struct xp_event event;

		if (capture->events[i].pid != capture->target.pid)
			return xp_input_bad(in, 0, reterr, "event %zu is not of its target", i);
		if (xp_event_from_doc(&capture->events[i], in->store, &event, &why))
			return xp_input_bad(in, 0, reterr, "%s", why.message);
		int rc = xp_input_add(in, &event, reterr);
		if (rc)
			return rc;
	}
	in->summary->host_dropped += capture->dropped;
	in->summary->host_limit_reached |= capture->record_limit_reached.set && capture->record_limit_reached.v;
	return 0;
}

/* The whole file is one document; it may be laid out over many lines. */
static int read_capture(struct xp_input *in, struct xp_err *reterr)
{
	xp_auto_text text = malloc((size_t)in->size + 1);
	xp_auto_err why = { 0 };
	struct xp_host_capture capture;
	char reason[160];

	if (!text)
		return xp_fail_sys(reterr, ENOMEM, "malloc", "%s", in->path);
	int rc = xp_input_pread(in, text, (size_t)in->size, 0, reterr);
	if (rc)
		return rc;
	json_t *value = xp_json_parse(text, (size_t)in->size, reason, sizeof(reason));
	if (!value)
		return xp_input_bad(in, 0, reterr, "%s", reason);
	if (xp_record_read(&xp_host_capture_record, value, in->scratch, XP_E_TRACE_EXPORT_FAILED, &capture, &why))
		rc = xp_input_bad(in, 0, reterr, "%s", why.message);
	else
		rc = add_capture(in, &capture, reterr);
	json_decref(value);
	xp_arena_reset(in->scratch);
	return rc;
}

/*
 * A line that is a whole Event begins a JSONL file. Anything else (a brace alone, a very long line) can only be one document; a broken
 * line that speaks of an Event is left to the reader of lines, which tells its number.
 */
static bool is_event_line(const char *text, size_t len)
{
	static const char key[] = "\"event_id\"", document[] = "\"events\"";
	char why[160];

	if (len > LINE_MAX_BYTES)
		return false;
	json_t *value = xp_json_parse(text, len, why, sizeof(why));
	if (!value)
		return memmem(text, len, key, sizeof(key) - 1) && !memmem(text, len, document, sizeof(document) - 1);
	bool event = json_object_get(value, "event_id") != NULL;
	json_decref(value);
	return event;
}

static int read_lines(struct xp_input *in, struct lines *lines, const char *text, size_t len, struct xp_err *reterr)
{
	int rc;

	in->summary->source_loss_unknown = true;
	do {
		rc = add_line(in, text, len, lines->number, reterr);
		if (rc)
			return rc;
	} while ((rc = next_line(lines, &text, &len, reterr)) == 1);
	return rc;
}

int xp_input_read_json(struct xp_input *in, struct xp_err *reterr)
{
	struct lines lines = { .in = in };
	const char *text;
	size_t len = 0;
	int rc;

	do
		rc = next_line(&lines, &text, &len, reterr);
	while (rc == 1 && blank(text, len));
	if (rc == 1 && is_event_line(text, len))
		rc = read_lines(in, &lines, text, len, reterr);
	else if (rc == 1)
		rc = read_capture(in, reterr);
	else if (!rc)
		rc = xp_input_bad(in, 0, reterr, "it holds no event");
	xp_text_done(&lines.buffer);
	return rc;
}
