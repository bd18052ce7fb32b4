/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the agent link. */
#ifndef XP_ENGINE_AGENT_LINK_PRIV_H
#define XP_ENGINE_AGENT_LINK_PRIV_H

#include "engine/agent_link.h"

struct xp_agent_link {
	int fd;
	uint8_t *memory; /* XP_AGENT_FILE_MAX bytes; those beyond the file's end may not be touched */
	struct xp_agent_control *control;
	uint64_t token;	   /* of the lease; 0: not held */
	uint32_t sequence; /* of the last command */
	uint32_t capacity; /* as asked for at ARM, never as the other side says */
	bool aggregate;
	uint64_t tail, names_read;
	uint64_t head,
		told; /* head as seen last, tail as published last: lines that application threads use are touched once in many records */
	uint64_t captures; /* as counted before ARM: until it moves, what lies in the file is an older capture's */
	char cupti_path[sizeof(((struct xp_agent_control *)0)->cupti_path) + 1];
};

/* The capture of the last ARM has begun to write. */
static inline bool xp_agent_link_begun(const struct xp_agent_link *link)
{
	return link->capacity && __atomic_load_n(&link->control->captures, __ATOMIC_ACQUIRE) != link->captures;
}

#endif
