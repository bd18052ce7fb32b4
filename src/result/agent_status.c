/* SPDX-License-Identifier: Apache-2.0 */
/* The field table of what `dev agent` tells. No state. */
#include "result/agent_status.h"

#include "base/field.h"

/* In the order of wire/agent_codes.h and of xp_agent_word.ended. */
static const char *const state_names[] = { "idle", "arming", "armed", "stopping", "gone" };
static const char *const ended_names[] = { "lease", "deadline", "exit", "behind" };

static const struct xp_field holder_fields[] = {
	XP_FIELD(xp_agent_holder, session, STR, "session_id of the tool that holds the agent"),
	XP_FIELD(xp_agent_holder, tool_pid, U32, "that tool, in its own PID namespace"),
	XP_FIELD(xp_agent_holder, renewed_ns, U64, "last renewal, CLOCK_MONOTONIC"),
	XP_FIELD(xp_agent_holder, open_ns, U64, "begin of the window; 0: not yet"),
	XP_FIELD(xp_agent_holder, close_ns, U64, "end of the window; 0: not yet"),
};
static const struct xp_record holder_record = XP_RECORD("AgentLease", xp_agent_holder, holder_fields, "who holds the agent");

static const struct xp_field status_fields[] = {
	XP_FIELD_CONST("schema_version", "2.0", "version of this record"),
	XP_FIELD_TRUE("ok", "the command succeeded"),
	XP_FIELD_OBJ(xp_agent_status, target, &xp_target_id_record, "the process"),
	XP_FIELD_ENUM(xp_agent_status, state, state_names, "what the agent does"),
	XP_FIELD_ENUM(xp_agent_status, ended, ended_names, "what ended the last capture in place of its tool", .flags = XP_NULLABLE),
	XP_FIELD(xp_agent_status, control_version, U32, "version of the control (10.17)"),
	XP_FIELD(xp_agent_status, build_id, STR, "of the agent file, lower hex", .flags = XP_NULLABLE),
	XP_FIELD(xp_agent_status, agent_tid, U32, "the agent's thread, in the target's PID namespace"),
	XP_FIELD(xp_agent_status, cupti_version, U32, "0 until the first arm"),
	XP_FIELD(xp_agent_status, driver_version, U32, "0 until the first arm"),
	XP_FIELD(xp_agent_status, cupti_path, STR, "libcupti in use", .flags = XP_NULLABLE),
	XP_FIELD_PTR(xp_agent_status, lease, &holder_record, "who holds the agent now", .flags = XP_NULLABLE),
};
const struct xp_record xp_agent_status_record =
	XP_RECORD("AgentStatus", xp_agent_status, status_fields, "state, versions and lease of the agent in a process");
