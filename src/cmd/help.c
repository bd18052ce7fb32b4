/* SPDX-License-Identifier: Apache-2.0 */
/* Help texts out of the command tables. No state. */
#include "cmd/flags.h"

#include <stdio.h>
#include <string.h>

static void flag_lines(struct xp_text *out, const struct xp_flag *flags, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char left[64];
		size_t len;

		snprintf(left, sizeof(left), "%s%s%s", flags[i].name, flags[i].value ? " " : "", flags[i].value ? flags[i].value : "");
		len = strlen(left);
		xp_text_fmt(out, "  %-26s%s%s\n", left, len > 25 ? "\n                            " : "", flags[i].doc);
	}
}

void xp_help_overview(struct xp_text *out)
{
	size_t n;
	const struct xp_command *const *all = xp_commands(&n);

	xp_text_str(out, "xprobe - where the time of a running process goes, and exact latencies between two of its events\n\n"
			 "usage: xprobe COMMAND [FLAGS]\n\nstart here:\n"
			 "  xprobe measure --pid PID --triage --duration-ms 2000   ranked findings, each with a ready next step\n"
			 "  xprobe measure --spec NEXT.json                        takes that next step as it stands\n\ncommands:\n");
	for (size_t i = 0; i < n; i++)
		if (!all[i]->hidden)
			xp_text_fmt(out, "  %-10s %s\n", all[i]->name, all[i]->summary);
	xp_text_str(out, "\nglobal flags:\n");
	flag_lines(out, xp_global_flags, xp_n_global_flags);
	xp_text_str(out, "\n`xprobe COMMAND --help` tells the flags of a command.\n");
}

void xp_help_command(const struct xp_command *command, struct xp_text *out)
{
	xp_text_fmt(out, "xprobe %s - %s\n\nusage:\n%s\n", command->name, command->summary, command->usage);
	if (command->n_flags) {
		xp_text_str(out, "flags:\n");
		flag_lines(out, command->flags, command->n_flags);
	}
	xp_text_str(out, "\nglobal flags:\n");
	flag_lines(out, xp_global_flags, xp_n_global_flags);
}
