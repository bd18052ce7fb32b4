/* SPDX-License-Identifier: Apache-2.0 */
/* Flag parsing by tables: types, bounds, duplicates, modes. In: argv. Out: session->uses. No state. */
#include "cmd/flags.h"

#include <string.h>

#include "base/parse.h"

#define XP_COMMAND(name) extern const struct xp_command xp_command_##name;
#include "cmd/command_list.def"
#undef XP_COMMAND

static const struct xp_command *const commands[] = {
#define XP_COMMAND(name) &xp_command_##name,
#include "cmd/command_list.def"
#undef XP_COMMAND
	NULL,
};

const struct xp_flag xp_global_flags[] = {
	{ .name = "--json", .doc = "JSON even on a terminal" }, { .name = "--human", .doc = "human report even in a pipe" },
	{ .name = "--no-color", .doc = "no ANSI sequences" },	{ .name = "--non-interactive", .doc = "accepted; nothing ever prompts" },
	{ .name = "--help", .doc = "this text (also -h)" },	{ .name = "--version", .doc = "version (also -V)" },
};
const size_t xp_n_global_flags = XP_LEN(xp_global_flags);

const struct xp_command *const *xp_commands(size_t *ret_n)
{
	*ret_n = XP_LEN(commands) - 1;
	return commands;
}

const struct xp_command *xp_command_find(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static const struct xp_flag *find_in(const struct xp_flag *flags, size_t n, const char *name, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(flags[i].name) == len && !memcmp(flags[i].name, name, len))
			return &flags[i];
	return NULL;
}

static const struct xp_flag *find_flag(const struct xp_command *command, const char *arg, size_t len)
{
	if (len == 2 && !memcmp(arg, "-h", 2))
		return find_in(xp_global_flags, xp_n_global_flags, "--help", 6);
	if (len == 2 && !memcmp(arg, "-V", 2))
		return find_in(xp_global_flags, xp_n_global_flags, "--version", 9);
	const struct xp_flag *flag = find_in(command->flags, command->n_flags, arg, len);
	return flag ? flag : find_in(xp_global_flags, xp_n_global_flags, arg, len);
}

static int bad(struct xp_err *reterr, const char *flag, const char *what)
{
	int rc = xp_fail(reterr, XP_E_INVALID_ARGUMENT, "%s %s", flag, what);

	xp_err_object(reterr, "%s", flag);
	return rc;
}

static int set_number(struct xp_flag_use *use, struct xp_err *reterr)
{
	const struct xp_flag *flag = use->flag;

	if (!xp_parse_u64(use->text, &use->number))
		return bad(reterr, flag->name, "takes an unsigned decimal number");
	if (use->number >= flag->min && use->number <= flag->max)
		return 0;
	int rc = xp_fail(reterr, XP_E_SESSION_LIMIT_EXCEEDED, "%s is %llu; it must lie between %llu and %llu", flag->name,
			 (unsigned long long)use->number, (unsigned long long)flag->min, (unsigned long long)flag->max);
	xp_err_object(reterr, "%s", flag->name);
	xp_err_limit(reterr, flag->name + 2, use->number, flag->min, flag->max);
	return rc;
}

static int set_share(struct xp_flag_use *use, struct xp_err *reterr)
{
	if (!xp_parse_share(use->text, &use->share))
		return bad(reterr, use->flag->name, "takes a number such as 0.05");
	if (use->share <= use->flag->max_share)
		return 0;
	int rc = xp_fail(reterr, XP_E_SESSION_LIMIT_EXCEEDED, "%s is %s; it must lie between 0 and %g", use->flag->name, use->text,
			 use->flag->max_share);
	xp_err_object(reterr, "%s", use->flag->name);
	xp_err_detail(reterr, "limit",
		      json_pack("{s:s,s:f,s:f,s:f}", "name", use->flag->name + 2, "value", use->share, "minimum", 0.0, "maximum",
				use->flag->max_share));
	return rc;
}

static int set_value(struct xp_flag_use *use, struct xp_err *reterr)
{
	switch (use->flag->kind) {
	case XP_FLAG_SWITCH:
	case XP_FLAG_TEXT:
		return 0;
	case XP_FLAG_U64:
		return set_number(use, reterr);
	case XP_FLAG_SHARE:
		return set_share(use, reterr);
	}
	return 0;
}

/* One flag at argv[*i]; moves *i over its value. */
static int take_flag(struct xp_session *session, int argc, char **argv, int *i, struct xp_err *reterr)
{
	const char *arg = argv[*i], *equals = strchr(arg, '=');
	size_t len = equals ? (size_t)(equals - arg) : strlen(arg);
	const struct xp_flag *flag = find_flag(session->command, arg, len);

	if (!flag)
		return bad(reterr, arg, "is not a flag of this command");
	if (!flag->repeatable && xp_flag_find(session, flag->name))
		return bad(reterr, flag->name, "is given twice");
	struct xp_flag_use *use = &session->uses[session->n_uses];
	use->flag = flag;
	if (flag->kind == XP_FLAG_SWITCH) {
		if (equals)
			return bad(reterr, flag->name, "takes no value");
	} else if (equals) {
		use->text = equals + 1;
	} else if (*i + 1 < argc) {
		use->text = argv[++*i];
	} else {
		return bad(reterr, flag->name, "needs a value");
	}
	session->n_uses++;
	return 0;
}

int xp_flags_parse(struct xp_session *session, int argc, char **argv, struct xp_err *reterr)
{
	const char **words = xp_arena_array(session->arena, const char *, argc + 1);

	session->uses = xp_arena_array(session->arena, struct xp_flag_use, argc + 1);
	session->words = words;
	for (int i = 0; i < argc; i++) {
		int rc = 0;

		if (argv[i][0] == '-' && argv[i][1])
			rc = take_flag(session, argc, argv, &i, reterr);
		else if (session->n_words < session->command->max_words)
			words[session->n_words++] = argv[i];
		else
			rc = bad(reterr, argv[i], "is not expected here");
		if (rc)
			return rc;
	}
	if (xp_flag_on(session, "--json") && xp_flag_on(session, "--human"))
		return bad(reterr, "--human", "conflicts with --json");
	/* Types first, so that exit 2 does not depend on the order of the flags; bounds second. */
	for (size_t i = 0; i < session->n_uses; i++) {
		int rc = set_value(&session->uses[i], reterr);

		if (rc == -XP_E_INVALID_ARGUMENT)
			return rc;
	}
	for (size_t i = 0; i < session->n_uses; i++) {
		int rc = set_value(&session->uses[i], reterr);

		if (rc)
			return rc;
	}
	return 0;
}

const struct xp_flag_use *xp_flag_find(const struct xp_session *session, const char *name)
{
	for (size_t i = session->n_uses; i > 0; i--)
		if (!strcmp(session->uses[i - 1].flag->name, name))
			return &session->uses[i - 1];
	return NULL;
}

bool xp_flag_on(const struct xp_session *session, const char *name)
{
	return xp_flag_find(session, name) != NULL;
}

uint64_t xp_flag_u64(const struct xp_session *session, const char *name, uint64_t otherwise)
{
	const struct xp_flag_use *use = xp_flag_find(session, name);

	return use ? use->number : otherwise;
}

const char *xp_flag_text(const struct xp_session *session, const char *name, const char *otherwise)
{
	const struct xp_flag_use *use = xp_flag_find(session, name);

	return use ? use->text : otherwise;
}

int xp_flags_check_mode(const struct xp_session *session, unsigned mode, const char *mode_name, struct xp_err *reterr)
{
	for (size_t i = 0; i < session->n_uses; i++) {
		const struct xp_flag *flag = session->uses[i].flag;

		if (flag->modes && !(flag->modes & mode)) {
			int rc = xp_fail(reterr, XP_E_INVALID_ARGUMENT, "%s does not go with %s", flag->name, mode_name);

			xp_err_object(reterr, "%s", flag->name);
			return rc;
		}
	}
	return 0;
}
