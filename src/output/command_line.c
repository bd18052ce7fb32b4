/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines to paste. In: words, findings. Out: text. No state. */
#include "output/command_line.h"

#include <string.h>

#include "base/text.h"
#include "triage/finding.h"

static bool has_control(const char *word)
{
	for (; *word; word++)
		if ((unsigned char)*word < ' ' || *word == 0x7f)
			return true;
	return false;
}

static void ansi_word(struct xp_text *out, const char *word)
{
	xp_text_str(out, "$'");
	for (; *word; word++) {
		if ((unsigned char)*word < ' ' || *word == 0x7f)
			xp_text_fmt(out, "\\%03o", (unsigned)(unsigned char)*word);
		else if (*word == '\'' || *word == '\\')
			xp_text_fmt(out, "\\%c", *word);
		else
			xp_text_char(out, *word);
	}
	xp_text_char(out, '\'');
}

void xp_shell_word(struct xp_text *out, const char *word)
{
	bool plain = *word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%") == strlen(word);

	if (plain) {
		xp_text_str(out, word);
		return;
	}
	if (has_control(word)) {
		ansi_word(out, word);
		return;
	}
	xp_text_char(out, '\'');
	for (const char *p = word; *p; p++) {
		if (*p == '\'')
			xp_text_str(out, "'\\''");
		else
			xp_text_char(out, *p);
	}
	xp_text_char(out, '\'');
}

bool xp_next_command(const struct xp_finding *finding, const char *invocation, struct xp_text *out)
{
	const struct xp_next_spec *spec = finding->next;
	const struct xp_next_action *action = finding->next;
	const char *tool = invocation ? invocation : "xprobe";

	if (!finding->next)
		return false;
	if (spec->kind == XP_NEXT_SPEC) {
		if (!spec->path)
			return false;
		xp_text_fmt(out, "%s measure --spec ", tool);
		xp_shell_word(out, spec->path);
		return true;
	}
	for (size_t i = 0; i < action->n_command; i++) {
		xp_text_str(out, i ? " " : "");
		if (!i && !strcmp(action->command[0], "xprobe"))
			xp_text_str(out, tool);
		else
			xp_shell_word(out, action->command[i]);
	}
	return action->n_command > 0;
}
