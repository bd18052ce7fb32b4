/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `xprobe mcp` (contract 18): tools out of the command tables, and the calls of a session. */
#ifndef XP_CMD_MCP_H
#define XP_CMD_MCP_H

#include "cmd/command.h"
#include "collect/calls.h"

/* One tool: a command with the flags of some of its modes. */
struct xp_mcp_tool {
	const char *name, *title, *description, *command;
	const char *fixed; /* a flag that is always given; NULL: none */
	unsigned modes;	   /* of the command's flags; 0: all of them */
	bool spec, captures, may_mutate;
};

const struct xp_mcp_tool *xp_mcp_tool_find(const char *name);
/* {"tools": [...]} of tools/list; owned. */
json_t *xp_mcp_tool_list(void);
/* What arguments give for key; NULL also for null and for an empty array, which give nothing. */
const json_t *xp_mcp_argument(const json_t *arguments, const char *key);
/*
 * arguments as the command line of the tool's command, NULL at its end, in the arena. command: the
 * tool's own, or `validate` for the same thing: then what that command has no flag for is left out. INVALID_ARGUMENT for an argument that
 * the tool does not have, and for one that no command line can carry.
 */
int xp_mcp_command_line(const struct xp_mcp_tool *tool, const char *command, const json_t *arguments, struct xp_arena *arena,
			const char *const **ret_argv, struct xp_err *reterr);

struct xp_mcp; /* one session */

/* Answers one message of the client, or begins what will answer it. */
void xp_mcp_message(struct xp_mcp *mcp, const char *text, size_t len);
void xp_mcp_too_long(struct xp_mcp *mcp);
/* The program of a call has ended. */
void xp_mcp_done(struct xp_mcp *mcp, const struct xp_call_news *news);
/* Interrupts every capture, so that it cleans up and keeps its artifact; others may finish. */
void xp_mcp_end(struct xp_mcp *mcp);
/* False once the client's end is gone. */
bool xp_mcp_heard(const struct xp_mcp *mcp);
struct xp_mcp *xp_mcp_new(struct xp_calls *calls);
void xp_mcp_free(struct xp_mcp *mcp);

#endif
