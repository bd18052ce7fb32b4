/* SPDX-License-Identifier: Apache-2.0 */
/* `xprobe mcp`: serves the Model Context Protocol on stdin and stdout until end of file (contract 18). */
#include "cmd/mcp.h"

#include <unistd.h>

static void serve(struct xp_mcp *mcp, struct xp_calls *calls)
{
	bool ending = false;

	while (!ending || xp_calls_running(calls)) {
		struct xp_call_news news = xp_calls_next(calls);

		switch (news.event) {
		case XP_CALL_LINE:
			xp_mcp_message(mcp, news.text, news.len);
			break;
		case XP_CALL_LONG_LINE:
			xp_mcp_too_long(mcp);
			break;
		case XP_CALL_DONE:
			xp_mcp_done(mcp, &news);
			break;
		case XP_CALL_END:
			break;
		}
		if (!ending && (news.event == XP_CALL_END || !xp_mcp_heard(mcp))) {
			ending = true;
			xp_mcp_end(mcp);
		}
	}
}

static int run(struct xp_session *session, struct xp_err *reterr)
{
	struct xp_calls *calls = xp_calls_new(STDIN_FILENO);
	struct xp_mcp *mcp = calls ? xp_mcp_new(calls) : NULL;

	session->printed = true;
	if (mcp)
		serve(mcp, calls);
	bool heard = mcp && xp_mcp_heard(mcp);
	xp_mcp_free(mcp);
	xp_calls_free(calls);
	if (!mcp)
		return xp_fail(reterr, XP_E_RESOURCE_LIMIT, "out of memory");
	session->json &= heard; /* nobody reads stdout: stderr alone can tell */
	return heard ? 0 : xp_fail(reterr, XP_E_OUTPUT_FAILED, "the client's end is gone");
}

const struct xp_command xp_command_mcp = {
	.name = "mcp",
	.summary = "serves these commands to an agent by the Model Context Protocol, on stdin and stdout",
	.usage = "  xprobe mcp\n",
	.captures = true,
	.run = run,
};
