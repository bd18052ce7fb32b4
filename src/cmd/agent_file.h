/* SPDX-License-Identifier: Apache-2.0 */
/* Where the agent's file is, and the one line that is said before a target is modified (contract 6.9). */
#ifndef XP_CMD_AGENT_FILE_H
#define XP_CMD_AGENT_FILE_H

#include "cmd/command.h"
#include "collect/agent_place.h"

/* --agent, XPROBE_CUPTI_AGENT_PATH, ../lib/xprobe beside the executable, beside it, agent/ of a build tree; text in the session's arena. */
struct xp_agent_place xp_agent_file_place(const struct xp_session *session);

#endif
