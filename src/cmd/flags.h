/* SPDX-License-Identifier: Apache-2.0 */
/* Command line to session, by the tables of the commands. */
#ifndef XP_CMD_FLAGS_H
#define XP_CMD_FLAGS_H

#include "cmd/command.h"

const struct xp_command *const *xp_commands(size_t *ret_n);
const struct xp_command *xp_command_find(const char *name);

/* The global flags of contract 2, known to every command. */
extern const struct xp_flag xp_global_flags[];
extern const size_t xp_n_global_flags;

/* Fills session->uses, words, json. INVALID_ARGUMENT, SESSION_LIMIT_EXCEEDED (bounds). argv[0] is the first word behind the command. */
int xp_flags_parse(struct xp_session *session, int argc, char **argv, struct xp_err *reterr);

void xp_help_overview(struct xp_text *out);
void xp_help_command(const struct xp_command *command, struct xp_text *out);

#endif
