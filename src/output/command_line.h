/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines as a reader pastes them into a shell. */
#ifndef XP_OUTPUT_COMMAND_LINE_H
#define XP_OUTPUT_COMMAND_LINE_H

#include <stdbool.h>

struct xp_finding;
struct xp_text;

/* A word as a POSIX shell takes it; one with control characters as bash and zsh do ($'...'), so that no paste runs half of it. */
void xp_shell_word(struct xp_text *out, const char *word);
/*
 * The command of a finding's next step: measure the spec that was written, or what the action names. `invocation`: how this xprobe is
 * called ("sudo build/xprobe"); NULL: "xprobe". False: there is none.
 */
bool xp_next_command(const struct xp_finding *finding, const char *invocation, struct xp_text *out);

#endif
