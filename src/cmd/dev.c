/* SPDX-License-Identifier: Apache-2.0 */
/* `xprobe dev ...`: hidden commands for tests and for the build's own reference files. No state. */
#include <string.h>

#include "cmd/dev.h"
#include "cmd/emit.h"
#include "cmd/reference.h"

static const struct {
	const char *word;
	void (*write)(struct xp_json *json);
} references[] = {
	{ "docs", xp_reference_docs },
	{ "lists", xp_reference_lists },
	{ "schemas", xp_reference_schemas },
};

static int print_reference(struct xp_session *session, void (*write)(struct xp_json *json), struct xp_err *reterr)
{
	xp_auto_builder out = { 0 };
	struct xp_json json = { .out = &out, .pretty = session->pretty };

	write(&json);
	xp_text_char(&out, '\n');
	session->printed = true;
	return xp_emit_bytes(out.data, out.len) ? 0 : xp_fail(reterr, XP_E_OUTPUT_FAILED, "stdout takes no more");
}

static const struct xp_dev_part *const parts[] = { &xp_dev_cupti };

static int run(struct xp_session *session, struct xp_err *reterr)
{
	const char *word = session->n_words ? session->words[0] : "";

	for (size_t i = 0; i < XP_LEN(references); i++)
		if (!strcmp(word, references[i].word))
			return print_reference(session, references[i].write, reterr);
	for (size_t i = 0; i < XP_LEN(parts); i++) {
		if (strcmp(word, parts[i]->word) != 0)
			continue;
		int rc = xp_flags_check_mode(session, parts[i]->mode, word, reterr);
		return rc ? rc : parts[i]->run(session, reterr);
	}
	int rc = xp_fail(reterr, XP_E_INVALID_ARGUMENT, "`dev` knows cupti, docs, lists and schemas, not \"%.100s\"", word);
	xp_err_object(reterr, "%.100s", word);
	return rc;
}

static const struct xp_flag flags[] = {
	{ .name = "--input", .kind = XP_FLAG_TEXT, .value = "FILE", .modes = XP_DEV_CUPTI, .doc = "cupti: the capture file" },
	{ .name = "--session-id",
	  .kind = XP_FLAG_TEXT,
	  .value = "ID",
	  .modes = XP_DEV_CUPTI,
	  .doc = "cupti: session_id of the Events, 1 to 128 bytes" },
};

const struct xp_command xp_command_dev = {
	.name = "dev",
	.summary = "developer commands; not for scripts",
	.usage = "  xprobe dev docs|lists|schemas\n  xprobe dev cupti --input FILE --session-id ID\n",
	.flags = flags,
	.n_flags = XP_LEN(flags),
	.hidden = true,
	.max_words = 1,
	.run = run,
};

const struct xp_command xp_command_capture = {
	.name = "capture",
	.summary = "the same as dev",
	.usage = "  xprobe capture cupti --input FILE --session-id ID\n",
	.flags = flags,
	.n_flags = XP_LEN(flags),
	.hidden = true,
	.max_words = 1,
	.run = run,
};
