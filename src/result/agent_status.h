/* SPDX-License-Identifier: Apache-2.0 */
/* What `dev agent` tells about the agent in a process. For developers: it has no schema of its own. */
#ifndef XP_RESULT_AGENT_STATUS_H
#define XP_RESULT_AGENT_STATUS_H

#include "target/target.h"

struct xp_agent_holder {
	const char *session;
	uint32_t tool_pid;
	uint64_t renewed_ns, open_ns, close_ns;
};

struct xp_agent_status {
	struct xp_target_id target;
	int state; /* XP_AGENT_IDLE .. */
	int ended; /* why the last capture ended without a STOP; -1: it did not */
	uint32_t control_version, cupti_version, driver_version, agent_tid;
	const char *build_id, *cupti_path;
	const struct xp_agent_holder *lease; /* NULL: free */
};
extern const struct xp_record xp_agent_status_record;

#endif
