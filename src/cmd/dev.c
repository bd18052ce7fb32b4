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
	{ "files", xp_reference_files },
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

static const struct xp_dev_part *const parts[] = { &xp_dev_agent, &xp_dev_cupti, &xp_dev_uprobe };

static int refuse_word(const char *word, struct xp_err *reterr)
{
	int rc = xp_fail(reterr, XP_E_INVALID_ARGUMENT, "%.100s is not expected here", word);

	xp_err_object(reterr, "%.100s", word);
	return rc;
}

static int run(struct xp_session *session, struct xp_err *reterr)
{
	const char *word = session->n_words ? session->words[0] : "";

	for (size_t i = 0; i < XP_LEN(references); i++)
		if (!strcmp(word, references[i].word))
			return session->n_words > 1 ? refuse_word(session->words[1], reterr)
						    : print_reference(session, references[i].write, reterr);
	for (size_t i = 0; i < XP_LEN(parts); i++) {
		if (strcmp(word, parts[i]->word) != 0)
			continue;
		if (session->n_words > 1 && !parts[i]->takes_word)
			return refuse_word(session->words[1], reterr);
		int rc = xp_flags_check_mode(session, parts[i]->mode, word, reterr);
		return rc ? rc : parts[i]->run(session, reterr);
	}
	int rc = xp_fail(reterr, XP_E_INVALID_ARGUMENT, "`dev` knows agent, cupti, files, lists, schemas and uprobe, not \"%.100s\"", word);
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
	{ .name = "--pid",
	  .kind = XP_FLAG_U64,
	  .value = "PID",
	  .min = 1,
	  .max = UINT32_MAX,
	  .modes = XP_DEV_UPROBE | XP_DEV_AGENT,
	  .doc = "agent, uprobe: target process" },
	{ .name = "--binary", .kind = XP_FLAG_TEXT, .value = "PATH", .modes = XP_DEV_UPROBE, .doc = "uprobe: file, as in a selector" },
	{ .name = "--symbol",
	  .kind = XP_FLAG_TEXT,
	  .value = "NAME",
	  .modes = XP_DEV_UPROBE,
	  .doc = "uprobe: function or +0x offset, as in a selector" },
	{ .name = "--return", .kind = XP_FLAG_SWITCH, .modes = XP_DEV_UPROBE, .doc = "uprobe: at the function's return" },
	{ .name = "--probe-id",
	  .kind = XP_FLAG_U64,
	  .value = "N",
	  .max = UINT32_MAX,
	  .modes = XP_DEV_UPROBE,
	  .doc = "uprobe: copied into the result (default 1)" },
	{ .name = "--samples",
	  .kind = XP_FLAG_U64,
	  .value = "N",
	  .min = 1,
	  .max = 1000000,
	  .modes = XP_DEV_UPROBE,
	  .doc = "uprobe: stop after N events (default 1)" },
	{ .name = "--timeout-ms",
	  .kind = XP_FLAG_U64,
	  .value = "N",
	  .min = 1,
	  .max = 3600000,
	  .modes = XP_DEV_UPROBE,
	  .doc = "uprobe: bound (default 5,000)" },
	{ .name = "--jsonl", .kind = XP_FLAG_SWITCH, .modes = XP_DEV_UPROBE, .doc = "uprobe: Events only, one a line" },
};

const struct xp_command xp_command_dev = {
	.name = "dev",
	.summary = "developer commands; not for scripts",
	.usage = "  xprobe dev files|lists|schemas\n  xprobe dev agent --pid PID status|disarm\n  xprobe dev cupti --input FILE "
		 "--session-id ID\n"
		 "  xprobe dev uprobe --pid PID --binary PATH --symbol NAME [--return] [--samples N] [--timeout-ms N] [--probe-id N] "
		 "[--jsonl]\n",
	.flags = flags,
	.n_flags = XP_LEN(flags),
	.hidden = true,
	.captures = true,
	.max_words = 2,
	.run = run,
};

const struct xp_command xp_command_capture = {
	.name = "capture",
	.summary = "the same as dev",
	.usage = "  xprobe capture agent --pid PID status|disarm\n  xprobe capture cupti --input FILE --session-id ID\n"
		 "  xprobe capture uprobe --pid PID --binary PATH --symbol NAME [--return] [--samples N] [--timeout-ms N] [--probe-id N] "
		 "[--jsonl]\n",
	.flags = flags,
	.n_flags = XP_LEN(flags),
	.hidden = true,
	.captures = true,
	.max_words = 2,
	.run = run,
};
