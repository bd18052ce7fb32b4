/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's one state and what its files do for each other. Only the agent's own thread calls CUPTI, parses buffers and writes names,
 * groups and counters, so none of that needs a lock; what application threads touch is atomic and marked "shared".
 */
#ifndef XP_AGENT_AGENT_H
#define XP_AGENT_AGENT_H

#include "agent/flush.h"
#include "agent/gate_state.h"
#include "agent/nvtx_state.h"
#include "agent/objects.h"
#include "agent/residual.h"
#include "agent/state.h"

struct agent {
	uint64_t *live; /* shared: AGENT_LIVE; the kernel wipes the page in forked children */
	struct xp_agent_control *control;
	uint8_t *memory; /* the file, mapped to its largest size and never unmapped */
	int fd;
	pthread_t thread;
	uint32_t pid;
	unsigned tid_offset; /* of the thread id in glibc's thread block; 0: not found, ask the kernel */
	bool exiting;	     /* shared: the process runs its exit handlers */
	bool in_cupti;	     /* shared: the agent's thread is inside a call */

	struct cupti cupti;
	bool cupti_loaded, registered_exit;
	uint32_t version;
	void *subscriber;
	uint32_t step; /* steps of arm.c that are on */

	struct capture_view view;
	struct shard shards[AGENT_SHARDS];
	struct {
		uint64_t position;
	} __attribute__((aligned(64))) tail_seen; /* shared: of the ring, as the tool told it last */
	struct launch *launches;
	void **execs;		 /* shared: hash set of instantiated graphs */
	int32_t stream_captures; /* shared: streams being captured */

	/* Of the agent's thread: */
	bool exact, any_api, any_nvtx;
	struct flushes flush;
	struct shard before; /* counts when the capture began */
	uint64_t captured_launches;
	uint64_t warm_bytes; /* of the ring: its pages are there */
	uint64_t generation, armed_ns, deadline_ns;
	uint64_t lease_seen, lease_ns;
	uint32_t ring_mask, kinds[3], n_kinds;
	struct clock clock;
	struct tsc tsc; /* partly shared */
	struct residual residual;
	struct names names;
	struct buffers buffers;
	struct quarantine quarantine;
	struct gate gate;
	struct nvtx nvtx;
	struct objects objects;
	struct xp_agent_request request; /* a copy: the tool may write the shared one at any time */
	uint32_t *group_index, group_mask, groups;
	size_t group_index_bytes;
	uint64_t contexts_seen[64];
};
extern struct agent xp_agent;

/* life.c */
uint64_t xp_agent_now(void);
void xp_agent_exit(void); /* exit handler */
__attribute__((visibility("default"))) int xprobe_agent_start(void);
/* pthread_self without a call: the thread block's address, which lies in the block (x86-64 ABI). */
static inline pthread_t xp_agent_self(void)
{
	pthread_t self;

	__asm__("mov %%fs:0x10, %0" : "=r"(self));
	return self;
}
static inline bool xp_agent_on_own_thread(void)
{
	return xp_agent_self() == xp_agent.thread;
}
static inline bool xp_agent_is_live(void)
{
	return xp_agent.live && *xp_agent.live == AGENT_LIVE;
}
uint32_t xp_agent_tid(void);
uint64_t xp_agent_stat_field(unsigned number); /* of /proc/self/stat, from 3 on; 0: cannot be read */
void *xp_agent_map(size_t bytes);	       /* zeroed private memory, or NULL */
void xp_agent_sleep_ms(unsigned ms);
/* Fills the answer's text. */
int xp_agent_say(uint32_t status, const char *call, int cupti_status, const char *detail);
bool xp_agent_lease_lost(void);
/* The tool has died or given up ARM `sequence`: undo. */
bool xp_agent_cancelled(uint32_t sequence);

/* load.c: libcupti, found and resolved. XP_AGENT_* status. */
int xp_agent_load(void);
#define XP_AGENT_CALL(call)                                                                                  \
	({                                                                                                   \
		__atomic_store_n(&xp_agent.in_cupti, true, __ATOMIC_SEQ_CST);                                \
		int rc_ = __atomic_load_n(&xp_agent.exiting, __ATOMIC_SEQ_CST) ? -1 : (xp_agent.cupti.call); \
		__atomic_store_n(&xp_agent.in_cupti, false, __ATOMIC_SEQ_CST);                               \
		rc_;                                                                                         \
	})

/* arm.c, stop.c */
int xp_agent_arm(uint32_t sequence);
void xp_agent_stop(void);
void xp_agent_tick(void);
void xp_agent_kinds_off(void);
/* quarantine.c */
bool xp_agent_quarantine_find(void *symbol_in_library);
void xp_agent_unsubscribe(void);
/* Frees what has waited long enough; true when something still waits. */
bool xp_agent_quarantine_release(void);
/* Waits until the next stop will find room. */
void xp_agent_quarantine_make_room(void);

#endif
