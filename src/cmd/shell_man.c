/* SPDX-License-Identifier: Apache-2.0 */
/* The manual page. In: the command tables and the error table. Out: man(7) text. No state. */
#include <string.h>

#include "cmd/errors.h"
#include "cmd/flags.h"
#include "cmd/shell.h"

/* Text that troff must not read as its own: backslashes, hyphens that are typed, and a control character at the start of a line. */
static void troff(struct xp_text *out, const char *text)
{
	bool first = true;

	for (; *text; text++) {
		if (first && (*text == '.' || *text == '\''))
			xp_text_str(out, "\\&");
		if (*text == '\\')
			xp_text_str(out, "\\e");
		else if (*text == '-')
			xp_text_str(out, "\\-");
		else
			xp_text_char(out, *text);
		first = *text == '\n';
	}
}

static void flag_paragraphs(struct xp_text *out, const struct xp_flag *flags, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		xp_text_str(out, ".TP\n\\fB");
		troff(out, flags[i].name);
		xp_text_str(out, "\\fR");
		if (flags[i].value)
			xp_text_fmt(out, " \\fI%s\\fR", flags[i].value);
		xp_text_char(out, '\n');
		troff(out, flags[i].doc);
		xp_text_char(out, '\n');
	}
}

static void exit_status(struct xp_text *out)
{
	static const struct {
		int status;
		const char *text;
	} rows[] = {
		{ 0, "the command finished and wrote its result; also a result that advises caution, and a measurement that ended early" },
		{ 1, "validation, collection, decoding, export, clean-up or output failed" },
		{ 2, "wrong command line" },
		{ 3, "the target is missing, has ended, or its pid was reused" },
		{ 4, "a right is missing" },
	};

	xp_text_str(out, ".SH EXIT STATUS\n");
	for (size_t i = 0; i < XP_LEN(rows); i++) {
		xp_text_fmt(out, ".TP\n%d\n%s", rows[i].status, rows[i].text);
		bool first = true;

		for (int code = XP_E_NONE + 1; rows[i].status > 1 && code < XP_E_COUNT; code++) {
			if (xp_error_row((enum xp_err_code)code)->exit_status != rows[i].status)
				continue;
			xp_text_fmt(out, "%s%s", first ? " (" : ", ", xp_err_name((enum xp_err_code)code));
			first = false;
		}
		xp_text_str(out, first ? "\n" : ")\n");
	}
}

void xp_shell_man(struct xp_text *out)
{
	size_t n;
	const struct xp_command *const *all = xp_commands(&n);

	xp_text_str(
		out,
		".\\\" SPDX-License-Identifier: Apache-2.0\n.\\\" Made from the command tables by `make generate`.\n"
		".TH XPROBE 1 \"\" \"xprobe " XPROBE_VERSION "\" \"User Commands\"\n.SH NAME\n"
		"xprobe \\- where the time of a running process goes, and exact latencies between two of its events\n"
		".SH SYNOPSIS\n.nf\n.B xprobe measure \\-\\-pid PID \\-\\-triage \\-\\-duration\\-ms 2000\n"
		".B xprobe measure \\-\\-spec NEXT.json\n.fi\n.SH DESCRIPTION\n"
		"Attaches to a process that runs, with nothing prepared, looks at one bounded window, and leaves. The first command ranks "
		"what held the process up; each finding carries a measurement that the second command takes as it stands and in which "
		"every "
		"occurrence is timed.\n.PP\nOn a terminal the answer is a report, in a pipe one JSON document.\n.SH COMMANDS\n");
	for (size_t i = 0; i < n; i++) {
		if (all[i]->hidden)
			continue;
		xp_text_fmt(out, ".SS %s\n", all[i]->name);
		troff(out, all[i]->summary);
		xp_text_str(out, ".\n.PP\n.nf\n");
		troff(out, all[i]->usage);
		xp_text_str(out, ".fi\n");
		flag_paragraphs(out, all[i]->flags, all[i]->n_flags);
	}
	xp_text_str(out, ".SH GLOBAL FLAGS\n");
	flag_paragraphs(out, xp_global_flags, xp_n_global_flags);
	exit_status(out);
	xp_text_str(out,
		    ".SH ENVIRONMENT\n.TP\nTMPDIR\nparent of the private folders that artifacts go to; /tmp when unset\n"
		    ".TP\nXPROBE_CUPTI_AGENT_PATH\nthe agent file, weaker than \\fB\\-\\-agent\\fR\n"
		    ".TP\nNO_COLOR\nno ANSI sequences\n"
		    ".SH SEE ALSO\nthe pages installed in share/doc/xprobe: getting\\-started, contract, selectors, errors, records\n");
}
