/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tool's side of the agent's shared memory (contract 10.17): find it in a target, hold its lease, command it, read what it wrote. Nothing
 * here waits: commands are sent, and answered when xp_agent_link_answered says so.
 */
#ifndef XP_ENGINE_AGENT_LINK_H
#define XP_ENGINE_AGENT_LINK_H

#include "base/cleanup.h"
#include "base/err.h"
#include "target/target.h"
#include "wire/agent.h"

struct xp_agent_link;

/*
 * The agent of this target, whatever brought it there. CUPTI_AGENT_NOT_LOADED: there is none of our control version, or the one found
 * belongs to another process (inherited by a fork). PERMISSION_DENIED. Returns owned.
 */
int xp_agent_link_open(struct xp_target *target, struct xp_agent_link **ret_link, struct xp_err *reterr);
/* Gives the lease back, and the memory of the records where the agent is idle. */
void xp_agent_link_close(struct xp_agent_link *link);
XP_DEFINE_AUTO(struct xp_agent_link *, xp_agent_link_close);

/* Takes the lease; `session` names the holder to others. TARGET_BUSY with details.holder while another tool renews its own. */
int xp_agent_link_acquire(struct xp_agent_link *link, const char *session, struct xp_err *reterr);
/* At least each 100 ms from acquiring to the answer of STOP; a second without it ends the capture. */
void xp_agent_link_renew(struct xp_agent_link *link);
/* CLOCK_MONOTONIC; 0: not yet. Nothing is recorded before open or after close. */
void xp_agent_link_window(struct xp_agent_link *link, uint64_t open_ns, uint64_t close_ns);

/* XP_AGENT_ARM wants a request, the others NULL. The last command must have been answered or cancelled. */
void xp_agent_link_send(struct xp_agent_link *link, uint32_t command, const struct xp_agent_request *request);
bool xp_agent_link_answered(const struct xp_agent_link *link);
/* The answer as a result: 0, or the error code of contract 1.5 that its status stands for. */
int xp_agent_link_result(const struct xp_agent_link *link, struct xp_err *reterr);
/* An ARM that is taking too long: undone as soon as its call returns. */
void xp_agent_link_cancel(struct xp_agent_link *link);
/* XP_AGENT_IDLE .. */
uint32_t xp_agent_link_state(const struct xp_agent_link *link);
/* Why the last capture ended without a STOP: 1 lease, 2 deadline, 3 exit of the process; 0: it did not. */
uint32_t xp_agent_link_ended(const struct xp_agent_link *link);

/* A copy, exact once STOP is answered. */
struct xp_agent_counters xp_agent_link_counters(const struct xp_agent_link *link);
/* Bound of the error of times that the agent took itself; 0: they are CLOCK_MONOTONIC. */
uint64_t xp_agent_link_clock_error(const struct xp_agent_link *link);
struct xp_agent_identity xp_agent_link_identity(const struct xp_agent_link *link);
/* A copy; owner 0 where no other tool holds it, or the holder left it unrenewed for a second. */
struct xp_agent_lease xp_agent_link_lease(const struct xp_agent_link *link);
/* The libcupti in use; "" before the first ARM. Lives as long as the link. */
const char *xp_agent_link_cupti_path(struct xp_agent_link *link);

/* The next record of the ring as contract 10.16 has it; false: none now. */
bool xp_agent_link_record(struct xp_agent_link *link, struct xp_capture_event_5 *ret_record);
/* Records that were reserved and never completed, as those of a thread that died half way; only behind STOP. Skips one of them. */
bool xp_agent_link_skip(struct xp_agent_link *link);
/* The next name that was not read yet; text is not terminated and lives as long as the link. */
bool xp_agent_link_name(struct xp_agent_link *link, uint32_t *ret_id, const char **ret_text, uint32_t *ret_length);
/* Aggregate mode, behind STOP: the groups, in place. */
const struct xp_capture_aggregate_5 *xp_agent_link_groups(const struct xp_agent_link *link, uint32_t *ret_n);

#endif
