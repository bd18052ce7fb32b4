/* SPDX-License-Identifier: Apache-2.0 */
/* `dev agent --pid P status|disarm`: what the agent in a process does; bring it to rest where no tool holds it. */
#include <stdio.h>
#include <string.h>

#include "cmd/dev.h"
#include "collect/agent_capture.h"
#include "engine/agent_link.h"
#include "result/agent_status.h"

static const char *hex(const struct xp_agent_identity *identity, struct xp_arena *arena)
{
	char text[2 * sizeof(identity->build_id) + 1] = "";
	size_t n = identity->build_id_bytes < sizeof(identity->build_id) ? identity->build_id_bytes : sizeof(identity->build_id);

	for (size_t i = 0; i < n; i++)
		snprintf(text + 2 * i, 3, "%02x", identity->build_id[i]);
	return n ? xp_arena_str(arena, text) : NULL;
}

static const struct xp_agent_holder *holder(const struct xp_agent_link *link, struct xp_arena *arena)
{
	struct xp_agent_lease lease = xp_agent_link_lease(link);
	struct xp_agent_holder *held;

	if (!lease.owner)
		return NULL;
	held = xp_arena_new_of(arena, struct xp_agent_holder);
	*held = (struct xp_agent_holder){
		.session = xp_arena_fmt(arena, "%.*s", (int)sizeof(lease.session), lease.session),
		.tool_pid = lease.tool_pid,
		.renewed_ns = lease.renewed_ns,
		.open_ns = lease.open_ns,
		.close_ns = lease.close_ns,
	};
	return held;
}

/* The other side wrote these numbers: one that means nothing is an agent out of order. */
static int read_status(const struct xp_target *target, struct xp_agent_link *link, struct xp_session *session, struct xp_err *reterr)
{
	struct xp_agent_status *status = xp_arena_new_of(session->arena, struct xp_agent_status);
	struct xp_agent_identity identity = xp_agent_link_identity(link);
	uint32_t state = xp_agent_link_state(link), ended = xp_agent_link_ended(link);
	const char *path = xp_agent_link_cupti_path(link);

	if (state > XP_AGENT_GONE || ended > XP_AGENT_ENDED_BEHIND)
		return xp_fail(reterr, XP_E_CUPTI_NOT_AVAILABLE, "the agent in process %u tells a state that there is not: %u, %u",
			       xp_target_pid(target), state, ended);
	*status = (struct xp_agent_status){
		.target = *xp_target_identity(target),
		.state = (int)state,
		.ended = (int)ended - 1,
		.control_version = identity.version,
		.cupti_version = identity.cupti_version,
		.driver_version = identity.driver_version,
		.agent_tid = identity.agent_tid,
		.build_id = hex(&identity, session->arena),
		.cupti_path = *path ? xp_arena_str(session->arena, path) : NULL,
		.lease = holder(link, session->arena),
	};
	session->record = &xp_agent_status_record;
	session->value = status;
	return 0;
}

/* TARGET_BUSY while a tool renews its lease: its capture is not ours to end. Without one the agent disarms by itself, but not at once. */
static int disarm(struct xp_target *target, struct xp_agent_link *link, const struct xp_session *session, struct xp_err *reterr)
{
	struct xp_agent_capture capture = { .target = target, .link = link, .armed = true };
	int rc = xp_agent_link_acquire(link, session->session_id, reterr);

	return rc ? rc : xp_agent_capture_stop(&capture, NULL, NULL, reterr);
}

static int run(struct xp_session *session, struct xp_err *reterr)
{
	xp_auto(xp_target_close) struct xp_target *target = NULL;
	xp_auto(xp_agent_link_close) struct xp_agent_link *link = NULL;
	const char *action = session->n_words > 1 ? session->words[1] : "";

	if (!xp_flag_on(session, "--pid"))
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--pid is required");
	if (strcmp(action, "status") != 0 && strcmp(action, "disarm") != 0) {
		int rc = xp_fail(reterr, XP_E_INVALID_ARGUMENT, "`dev agent` takes status or disarm, not \"%.100s\"", action);

		xp_err_object(reterr, "%.100s", action);
		return rc;
	}
	int rc = xp_target_open((uint32_t)xp_flag_u64(session, "--pid", 0), NULL, &target, reterr);
	if (!rc)
		rc = xp_agent_link_open(target, &link, reterr);
	if (!rc && !strcmp(action, "disarm"))
		rc = disarm(target, link, session, reterr);
	if (!rc)
		rc = xp_target_check(target, reterr);
	return rc ? rc : read_status(target, link, session, reterr);
}

const struct xp_dev_part xp_dev_agent = { .word = "agent", .mode = XP_DEV_AGENT, .takes_word = true, .run = run };
