/* SPDX-License-Identifier: Apache-2.0 */
/* Documents and errors to the outside. In: values. Out: bytes on stdout and stderr. No state. */
#include "cmd/emit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/errors.h"

bool xp_emit_bytes(const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(STDOUT_FILENO, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			fprintf(stderr, "xprobe: OUTPUT_FAILED: cannot write to stdout: %s\n",
				n < 0 ? strerror(errno) : "nothing was taken");
			return false;
		}
		bytes += n;
		len -= (size_t)n;
	}
	return true;
}

void xp_render(const struct xp_record *record, void *value, bool pretty, size_t budget, bool (*shrink)(void *value), struct xp_text *out)
{
	for (;;) {
		struct xp_json json = { .out = out };

		out->len = 0;
		xp_record_write(&json, record, value, false);
		if (!budget || !shrink || out->len + 1 <= budget || !shrink(value))
			break;
	}
	if (pretty) {
		struct xp_json json = { .out = out, .pretty = true };

		out->len = 0;
		xp_record_write(&json, record, value, false);
	}
	xp_text_char(out, '\n');
}

int xp_emit_result(struct xp_session *session)
{
	xp_auto_builder out = { 0 };

	if (session->printed)
		return 0;
	if (!session->json && session->human)
		session->human(session->value, &out, session->color);
	else
		xp_render(session->record, (void *)session->value, session->pretty, session->budget, session->shrink, &out);
	return xp_emit_bytes(out.data, out.len) ? 0 : 1;
}

static void human_error(const struct xp_error_doc *doc, const struct xp_err *err)
{
	fprintf(stderr, "xprobe: %s: %s\n", doc->error.code, doc->error.message);
	if (err->call[0])
		fprintf(stderr, "  call: %s%s%s%s%s\n", err->call, err->errno_text[0] ? " = " : "", err->errno_text,
			err->object[0] ? " on " : "", err->object);
	const json_t *edge = err->details ? json_object_get(err->details, "edge") : NULL;
	if (edge)
		fprintf(stderr, "  edge: %s\n", json_string_value(edge));
	const json_t *path = err->details ? json_object_get(err->details, "artifact_path") : NULL;
	if (path)
		fprintf(stderr, "  evidence kept: %s\n", json_string_value(path));
	const json_t *candidates = err->details ? json_object_get(err->details, "candidates") : NULL;
	for (size_t i = 0; i < json_array_size(candidates); i++)
		fprintf(stderr, "  candidate: %s\n", json_string_value(json_array_get(candidates, i)));
	for (size_t i = 0; i < doc->error.n_hints; i++)
		fprintf(stderr, "  hint: %s\n", doc->error.hints[i]);
}

int xp_emit_error(const struct xp_session *session, const struct xp_err *err)
{
	struct xp_error_doc doc = xp_error_doc_make(err, session->arena);
	int status = xp_error_row(err->code)->exit_status;

	if (!session->json) {
		human_error(&doc, err);
		return status;
	}
	xp_auto_builder out = { 0 };
	xp_render(&xp_error_record, &doc, session->pretty, 0, NULL, &out);
	return xp_emit_bytes(out.data, out.len) ? status : 1;
}

void xp_err_partial(struct xp_err *err, const struct xp_record *record, void *value, size_t budget, bool (*shrink)(void *value))
{
	xp_auto_builder out = { 0 };
	char why[160];

	xp_render(record, value, false, budget, shrink, &out);
	xp_err_detail(err, "partial", xp_json_parse(out.data, out.len, why, sizeof(why)));
}
