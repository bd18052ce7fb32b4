/* SPDX-License-Identifier: Apache-2.0 */
/* Event lines on stdout for the developer commands. In: a sorted capture. Out: JSONL. No state. */
#include "cmd/dev.h"
#include "cmd/emit.h"

static int flush(struct xp_text *text, struct xp_err *reterr)
{
	size_t len = text->len;

	text->len = 0;
	if (len && !xp_emit_bytes(text->data, len))
		return xp_fail(reterr, XP_E_OUTPUT_FAILED, "stdout takes no more");
	return 0;
}

static int buffer_write(void *arg, const char *bytes, size_t len, struct xp_err *reterr)
{
	enum { FULL = 64 * 1024 };
	struct xp_text *text = arg;

	xp_text_add(text, bytes, len);
	return text->len < FULL ? 0 : flush(text, reterr);
}

int xp_dev_print_events(const struct xp_output_input *input, struct xp_err *reterr)
{
	xp_auto_builder buffer = { 0 };
	const struct xp_sink sink = { .write = buffer_write, .arg = &buffer };
	int rc = xp_output_find("jsonl")->write(input, &sink, reterr);

	if (!rc)
		rc = flush(&buffer, reterr);
	return rc;
}
