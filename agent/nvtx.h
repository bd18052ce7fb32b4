/* SPDX-License-Identifier: Apache-2.0 */
/* NVTX ranges without CUPTI: what the files that find copies of the header, hook them and record ranges do for each other. */
#ifndef XP_AGENT_NVTX_H
#define XP_AGENT_NVTX_H

#include "agent/agent.h"

/* nvtx.c: the capture. On the agent's thread. */
int xp_agent_nvtx_on(void);
void xp_agent_nvtx_off(void);
/* Hooks what the tool found since; sums up. */
void xp_agent_nvtx_tick(void);

/* nvtx_copies.c: goes through the sites and hooks those that are copies to be hooked. */
void xp_agent_nvtx_walk(void);
/* Every copy as it was. */
void xp_agent_nvtx_restore(void);

/* nvtx_slots.c: one copy, in memory that stays mapped during the call. */
bool xp_agent_nvtx_is_ours(const void *function);
/* Hooked by us in this capture. */
bool xp_agent_nvtx_is_hooked(const struct nvtx_globals *globals);
/* False: no room for another copy. */
bool xp_agent_nvtx_hook(struct nvtx_globals *globals);
void xp_agent_nvtx_unhook(struct nvtx_copy *copy);

/* nvtx_hooks.c: function by slot; NULL: none needed while there is no tool. */
extern void *const xp_agent_nvtx_hooks[NVTX_SLOTS];
/* Those that a process started with us keeps, so that handles made while no capture runs are known later. */
bool xp_agent_nvtx_makes_handles(unsigned slot);
/* For slots that nobody looks at: returns 0, as without a tool. */
uint64_t xp_agent_nvtx_nothing(void);

/* nvtx_range.c: beginnings and ends, on application threads. No allocation, no lock, no system call. */
struct nvtx_message {
	const char *text; /* NULL: not known */
	size_t length;
	bool complete; /* false: what follows is not known */
};
void xp_agent_nvtx_push(uint32_t domain, const struct nvtx_message *message);
void xp_agent_nvtx_pop(uint32_t domain);
/* 0: not followed, as without a tool. */
uint64_t xp_agent_nvtx_start(uint32_t domain, const struct nvtx_message *message);
void xp_agent_nvtx_end(uint64_t id);
/* Waits, at most half a second, until no thread is inside any of them. */
void xp_agent_nvtx_drain(void);
uint64_t xp_agent_nvtx_calls(void);

/* nvtx_text.c: id of a text, 0 when it has no room. */
uint32_t xp_agent_nvtx_text(const struct nvtx_texts *texts, const struct nvtx_message *message);
/* The text of an entry that the program holds a pointer to; NULL when it is none of the table. */
const struct xp_agent_nvtx_text *xp_agent_nvtx_text_at(const struct nvtx_texts *texts, const void *handle);

#endif
