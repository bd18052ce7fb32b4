/* SPDX-License-Identifier: Apache-2.0 */
/* How records are got out of CUPTI, and whether it keeps up. On the agent's thread. */
#ifndef XP_AGENT_FLUSH_H
#define XP_AGENT_FLUSH_H

#include <stdbool.h>
#include <stdint.h>

struct flushes {
	uint64_t last_ns;
	uint64_t came;	/* records that came since the last look without being asked for */
	bool forced;	/* parsing what a forced flush brought */
	bool behind;	/* CUPTI cannot keep up: the capture is to end */
	unsigned falls; /* captures that ended so in this process */
};

void xp_agent_flushes_begin(void);
/* What has come, after a flush where one is due. */
void xp_agent_activities_read(void);
/* The stop, kinds being off: until every launch has its record, or a while. */
void xp_agent_settle(void);

#endif
