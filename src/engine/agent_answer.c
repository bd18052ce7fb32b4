/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's answer -> the error that stands for it. In: the reply word. Out: struct xp_err. No state. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/agent_link_priv.h"

static const struct {
	enum xp_err_code code;
	const char *message;
} answers[] = {
	[XP_AGENT_OK] = { XP_E_NONE, "" },
	[XP_AGENT_BAD_REQUEST] = { XP_E_INTERNAL, "the agent did not understand the request" },
	[XP_AGENT_NO_CUDA] = { XP_E_CUDA_CONTEXT_NOT_FOUND, "the target has no CUDA context" },
	[XP_AGENT_NO_CUPTI] = { XP_E_CUPTI_NOT_AVAILABLE, "no usable libcupti for the target" },
	[XP_AGENT_UNSUPPORTED] = { XP_E_UNSUPPORTED_CUDA_VERSION, "the target's CUPTI cannot be used safely for this" },
	[XP_AGENT_BUSY] = { XP_E_CUPTI_BUSY, "another profiler holds CUPTI in the target" },
	[XP_AGENT_CALL_FAILED] = { XP_E_CUPTI_NOT_AVAILABLE, "CUPTI refused to collect" },
	[XP_AGENT_UNKNOWN_API] = { XP_E_INVALID_EVENT_SELECTOR, "the target's CUPTI knows no such API" },
	[XP_AGENT_NO_MEMORY] = { XP_E_RESOURCE_LIMIT, "the agent could not get memory in the target" },
	[XP_AGENT_CANCELLED] = { XP_E_SESSION_LIMIT_EXCEEDED, "arming was given up" },
	[XP_AGENT_WRONG_STATE] = { XP_E_TARGET_BUSY, "the agent is armed already" },
	[XP_AGENT_WORN] = { XP_E_COLLECTION_DEAD, "CUPTI in the target fell behind in three captures; a restart of the program cures it" },
	[XP_AGENT_NO_QUARANTINE] = { XP_E_CUPTI_NOT_AVAILABLE, "this libcupti could not be released safely afterwards" },
};

/* Text of the shared file: bounded, and printable whatever lies there. */
static void copy_text(char *out, size_t size, const char *in, size_t n)
{
	size_t i = 0;

	for (; i < n && i + 1 < size && in[i]; i++)
		out[i] = in[i] >= ' ' && in[i] < 127 ? in[i] : '?';
	out[i] = '\0';
}

int xp_agent_link_result(const struct xp_agent_link *link, struct xp_err *reterr)
{
	struct xp_agent_word word = link->control->word;
	char call[sizeof(word.call) + 1], detail[sizeof(word.detail) + 1];
	uint32_t status = word.status;

	if (status == XP_AGENT_OK)
		return 0;
	copy_text(call, sizeof(call), word.call, sizeof(word.call));
	copy_text(detail, sizeof(detail), word.detail, sizeof(word.detail));
	if (status >= XP_LEN(answers))
		return xp_fail(reterr, XP_E_INTERNAL, "the agent answered with the unknown status %u", status);
	if (call[0])
		xp_fail_call(reterr, answers[status].code, 0, call, "%s", detail);
	else
		xp_fail(reterr, answers[status].code, "%s", answers[status].message);
	xp_err_say(reterr, detail[0] ? "%s: %s" : "%s", answers[status].message, detail);
	if (word.cupti_status)
		snprintf(reterr->errno_text, sizeof(reterr->errno_text), "%u", word.cupti_status);
	if (status == XP_AGENT_BUSY && detail[0])
		xp_err_detail(reterr, "holder", json_string(detail));
	return -(int)answers[status].code;
}
