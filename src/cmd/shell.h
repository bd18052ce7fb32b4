/* SPDX-License-Identifier: Apache-2.0 */
/* What a shell and `man` know of the tool, out of the command tables. Written to packaging/ by `make generate`. */
#ifndef XP_CMD_SHELL_H
#define XP_CMD_SHELL_H

#include "base/text.h"

void xp_shell_bash(struct xp_text *out); /* bash-completion, one function */
void xp_shell_zsh(struct xp_text *out);	 /* #compdef file */
void xp_shell_fish(struct xp_text *out);
void xp_shell_man(struct xp_text *out); /* xprobe.1, man(7) macros */

#endif
