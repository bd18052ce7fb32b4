/* SPDX-License-Identifier: Apache-2.0 */
/* Completions for bash, zsh and fish. In: the command tables; a flag's value word ("FILE", "POLICY") decides what completes it. No state.
 */
#include "cmd/shell.h"

#include <string.h>

#include "cmd/flags.h"
#include "output/output.h"
#include "plan/plan.h"

enum value_kind { VALUE_NONE, VALUE_ANY, VALUE_FILE, VALUE_PID, VALUE_POLICY, VALUE_FORMAT, VALUE_MODE };

static enum value_kind kind_of(const struct xp_flag *flag)
{
	static const struct {
		const char *word;
		enum value_kind kind;
	} words[] = { { "FILE", VALUE_FILE },	  { "PATH", VALUE_FILE },     { "PID", VALUE_PID },
		      { "POLICY", VALUE_POLICY }, { "FORMAT", VALUE_FORMAT }, { "MODE", VALUE_MODE } };

	if (flag->kind == XP_FLAG_SWITCH)
		return VALUE_NONE;
	for (size_t i = 0; i < XP_LEN(words); i++)
		if (!strcmp(flag->value, words[i].word))
			return words[i].kind;
	return VALUE_ANY;
}

/* The words that may follow a flag of that kind, blanks between them. */
static void choices(struct xp_text *out, enum value_kind kind)
{
	size_t n;
	const struct xp_output *const *outputs = xp_outputs(&n);

	if (kind == VALUE_MODE)
		xp_text_str(out, "summary full");
	for (size_t i = 0; kind == VALUE_FORMAT && i < n; i++)
		xp_text_fmt(out, "%s%s", i ? " " : "", outputs[i]->name);
	for (unsigned i = 0; kind == VALUE_POLICY && i < XP_POLICY_COUNT; i++) {
		xp_text_str(out, i ? " " : "");
		for (const char *c = xp_policy_names[i]; *c; c++)
			xp_text_char(out, *c == '_' ? '-' : *c);
	}
}

static void command_names(struct xp_text *out)
{
	size_t n;
	const struct xp_command *const *all = xp_commands(&n);

	for (size_t i = 0; i < n; i++)
		if (!all[i]->hidden)
			xp_text_fmt(out, "%s ", all[i]->name);
}

static void global_names(struct xp_text *out)
{
	for (size_t i = 0; i < xp_n_global_flags; i++)
		xp_text_fmt(out, " %s", xp_global_flags[i].name);
}

/* ---- bash ---- */

static void bash_value(struct xp_text *out, const char *flags, enum value_kind kind)
{
	if (!*flags)
		return;
	xp_text_fmt(out, "\t%s)\n\t\t", flags);
	if (kind == VALUE_FILE) {
		xp_text_str(out, "compopt -o filenames\n\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n");
	} else if (kind == VALUE_PID) {
		xp_text_str(out, "mapfile -t COMPREPLY < <(compgen -W \"$(cd /proc && echo [0-9]*)\" -- \"$cur\")\n");
	} else if (kind == VALUE_ANY) {
		xp_text_str(out, "COMPREPLY=()\n");
	} else {
		xp_text_str(out, "mapfile -t COMPREPLY < <(compgen -W \"");
		choices(out, kind);
		xp_text_str(out, "\" -- \"$cur\")\n");
	}
	xp_text_str(out, "\t\treturn\n\t\t;;\n");
}

static bool listed(const struct xp_text *names, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = names->data; (at = strstr(at, name)); at += len)
		if ((at == names->data || at[-1] == '|') && (at[len] == '|' || !at[len]))
			return true;
	return false;
}

/* One case for each kind of value, naming every flag of that kind once. */
static void bash_values(struct xp_text *out)
{
	size_t n;
	const struct xp_command *const *all = xp_commands(&n);

	for (enum value_kind kind = VALUE_ANY; kind <= VALUE_MODE; kind++) {
		xp_auto_builder names = { 0 };

		xp_text_str(&names, "");
		for (size_t i = 0; i < n; i++) {
			for (size_t j = 0; !all[i]->hidden && j < all[i]->n_flags; j++) {
				const struct xp_flag *flag = &all[i]->flags[j];

				if (kind_of(flag) == kind && !listed(&names, flag->name))
					xp_text_fmt(&names, "%s%s", names.len ? "|" : "", flag->name);
			}
		}
		bash_value(out, names.data, kind);
	}
}

void xp_shell_bash(struct xp_text *out)
{
	size_t n;
	const struct xp_command *const *all = xp_commands(&n);

	xp_text_str(out,
		    "# SPDX-License-Identifier: Apache-2.0\n# bash completion of xprobe, made from its command tables by `make generate`.\n"
		    "_xprobe() {\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} flags\n"
		    "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\tmapfile -t COMPREPLY < <(compgen -W \"");
	command_names(out);
	xp_text_str(out, "--help --version\" -- \"$cur\")\n\t\treturn\n\tfi\n\tcase $prev in\n");
	bash_values(out);
	xp_text_str(out, "\tesac\n\tcase ${COMP_WORDS[1]} in\n");
	for (size_t i = 0; i < n; i++) {
		if (all[i]->hidden)
			continue;
		xp_text_fmt(out, "\t%s) flags=\"", all[i]->name);
		for (size_t j = 0; j < all[i]->n_flags; j++)
			xp_text_fmt(out, "%s%s", j ? " " : "", all[i]->flags[j].name);
		xp_text_str(out, "\" ;;\n");
	}
	xp_text_str(out, "\tesac\n\tmapfile -t COMPREPLY < <(compgen -W \"$flags");
	global_names(out);
	xp_text_str(out, "\" -- \"$cur\")\n}\ncomplete -F _xprobe xprobe\n");
}

/* ---- zsh ---- */

/* Text inside a single-quoted _arguments specification. */
static void zsh_text(struct xp_text *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			xp_text_str(out, "'\\''");
		else if (strchr("[]:\\", *text))
			xp_text_fmt(out, "\\%c", *text);
		else
			xp_text_char(out, *text);
	}
}

static void zsh_flag(struct xp_text *out, const struct xp_flag *flag)
{
	enum value_kind kind = kind_of(flag);

	xp_text_fmt(out, " \\\n\t\t\t'%s%s[", flag->repeatable ? "*" : "", flag->name);
	zsh_text(out, flag->doc);
	xp_text_char(out, ']');
	if (kind != VALUE_NONE) {
		xp_text_char(out, ':');
		zsh_text(out, flag->value);
		xp_text_char(out, ':');
	}
	if (kind == VALUE_FILE)
		xp_text_str(out, "_files");
	else if (kind == VALUE_PID)
		xp_text_str(out, "_pids");
	else if (kind > VALUE_PID) {
		xp_text_char(out, '(');
		choices(out, kind);
		xp_text_char(out, ')');
	}
	xp_text_char(out, '\'');
}

void xp_shell_zsh(struct xp_text *out)
{
	size_t n;
	const struct xp_command *const *all = xp_commands(&n);

	xp_text_str(out,
		    "#compdef xprobe\n# SPDX-License-Identifier: Apache-2.0\n# zsh completion of xprobe, made from its command tables by "
		    "`make generate`.\n_xprobe() {\n\tif (( CURRENT == 2 )); then\n\t\tlocal -a commands=(");
	for (size_t i = 0; i < n; i++) {
		if (all[i]->hidden)
			continue;
		xp_text_fmt(out, "\n\t\t\t'%s:", all[i]->name);
		zsh_text(out, all[i]->summary);
		xp_text_char(out, '\'');
	}
	xp_text_str(
		out,
		"\n\t\t)\n\t\t_describe command commands\n\t\treturn\n\tfi\n\tlocal command=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n"
		"\tcase $command in\n");
	for (size_t i = 0; i < n; i++) {
		if (all[i]->hidden)
			continue;
		xp_text_fmt(out, "\t%s)\n\t\t_arguments", all[i]->name);
		for (size_t j = 0; j < all[i]->n_flags; j++)
			zsh_flag(out, &all[i]->flags[j]);
		for (size_t j = 0; j < xp_n_global_flags; j++)
			zsh_flag(out, &xp_global_flags[j]);
		xp_text_str(out, "\n\t\t;;\n");
	}
	xp_text_str(out, "\tesac\n}\n_xprobe \"$@\"\n");
}

/* ---- fish ---- */

static void fish_text(struct xp_text *out, const char *text)
{
	xp_text_char(out, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			xp_text_char(out, '\\');
		xp_text_char(out, *text);
	}
	xp_text_char(out, '\'');
}

static void fish_flag(struct xp_text *out, const struct xp_command *command, const struct xp_flag *flag)
{
	enum value_kind kind = kind_of(flag);

	xp_text_str(out, "complete -c xprobe");
	if (command)
		xp_text_fmt(out, " -n '__fish_seen_subcommand_from %s'", command->name);
	xp_text_fmt(out, " -l %s", flag->name + 2);
	if (kind == VALUE_FILE)
		xp_text_str(out, " -r -F");
	else if (kind == VALUE_PID)
		xp_text_str(out, " -x -a '(__fish_complete_pids)'");
	else if (kind > VALUE_PID) {
		xp_text_str(out, " -x -a '");
		choices(out, kind);
		xp_text_char(out, '\'');
	} else if (kind == VALUE_ANY)
		xp_text_str(out, " -x");
	xp_text_str(out, " -d ");
	fish_text(out, flag->doc);
	xp_text_char(out, '\n');
}

void xp_shell_fish(struct xp_text *out)
{
	size_t n;
	const struct xp_command *const *all = xp_commands(&n);

	xp_text_str(out,
		    "# SPDX-License-Identifier: Apache-2.0\n# fish completion of xprobe, made from its command tables by `make generate`.\n"
		    "complete -c xprobe -f\n");
	for (size_t i = 0; i < n; i++) {
		if (all[i]->hidden)
			continue;
		xp_text_fmt(out, "complete -c xprobe -n __fish_use_subcommand -a %s -d ", all[i]->name);
		fish_text(out, all[i]->summary);
		xp_text_char(out, '\n');
		for (size_t j = 0; j < all[i]->n_flags; j++)
			fish_flag(out, all[i], &all[i]->flags[j]);
	}
	for (size_t j = 0; j < xp_n_global_flags; j++)
		fish_flag(out, NULL, &xp_global_flags[j]);
}
