/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's one state and what its files do for each other. Only the agent's own thread calls CUPTI, parses buffers and writes names,
 * groups and counters, so none of that needs a lock; what application threads touch is atomic and marked "shared".
 */
#ifndef XP_AGENT_AGENT_H
#define XP_AGENT_AGENT_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "agent/cupti_abi.h"
#include "wire/agent.h"

enum {
	AGENT_CBIDS = 2048,	    /* callback ids told apart, per domain; CUPTI 13.2 has 846 */
	AGENT_SHARDS = 64,	    /* counter lines of application threads */
	AGENT_LAUNCHES = 1 << 18,   /* launches that may wait for their record */
	AGENT_BUFFER_BYTES = 128 << 10,
	AGENT_BUFFERS = 256,
	AGENT_WARM_BUFFERS = 32,    /* touched at arm, so that application threads find them mapped */
	AGENT_NAMES = 1 << 16,
	AGENT_EXECS = 4096,	    /* graphs instantiated in a capture */
	AGENT_EPOCHS = 16,	    /* clock steps told apart in a capture */
	AGENT_TICK_MS = 50,
	AGENT_LEASE_MS = 1000,
	AGENT_QUARANTINE = 64,
	AGENT_QUARANTINE_MS = 200,
};
#define AGENT_NS_PER_MS 1000000ull
#define AGENT_NS_PER_S 1000000000ull
#define AGENT_LIVE 0x786c6976656c6976ull

/* What a callback id is wanted for. */
enum { WANT_ENTRY = 1, WANT_EXIT = 2, WANT_LAUNCH = 4, WANT_GRAPH = 8, WANT_INSTANTIATE = 16 };

/* State of a launch in its slot; the key is correlation << 32 | generation << 8 | state. */
enum { LAUNCH_RETURNED = 1, LAUNCH_SEEN = 2, LAUNCH_FAILED = 4, LAUNCH_GRAPH = 8, LAUNCH_KNOWN_EXEC = 16 };
struct launch {
	uint64_t key;
	uint64_t entry_ns;
};

struct shard {
	uint64_t callbacks, api_launches, graph_launches, records, dropped, late_exits, duplicates;
	uint64_t pad;
} __attribute__((aligned(64)));

/* Shared: read by callbacks, written while no capture runs, except generation and the stop marks. */
struct capture_view {
	uint64_t generation; /* 0: no capture. The callback's user data must equal it */
	bool no_launches;    /* the stop began: launches from here on have no record */
	bool graphs;	     /* track instantiation */
	uint8_t want[2][AGENT_CBIDS];
	uint32_t api_name[2][AGENT_CBIDS]; /* id in the name table */
};

struct epoch {
	int64_t offset; /* CUPTI's clock - CLOCK_MONOTONIC */
	uint64_t from_ns;
};
struct clock {
	struct epoch epochs[AGENT_EPOCHS];
	unsigned n;
	uint64_t bracket_ns, last_ns;
};

struct name {
	uint32_t at, length; /* of the text, in the name region */
	uint32_t filters;    /* bit i: filter i accepts it */
	uint32_t next;	     /* same hash; index + 1 */
};
struct names {
	struct name *at;
	uint32_t n;
	uint64_t used; /* bytes of the region */
	uint32_t *buckets; /* AGENT_NAMES, index + 1 */
	struct name_cache {
		const char *text;
		uint32_t name; /* index + 1 */
	} * cache;	       /* AGENT_NAME_CACHE, by address */
};
enum { AGENT_NAME_CACHE = 4096 };

struct buffers {
	uint8_t *memory;
	uint64_t free;			/* shared: tag << 32 | index + 1 of the first free one */
	uint32_t next[AGENT_BUFFERS];	/* shared: index + 1 */
	uint64_t done;			/* shared: list of completed ones, newest first */
	uint32_t valid[AGENT_BUFFERS];
	uint64_t requested, refused;	/* shared */
	uint32_t waiting;		/* shared: completed ones not parsed yet */
};

struct quarantine {
	void **entry; /* libcupti's import of free */
	void (*real)(void *block);
	bool on; /* of the agent's thread only */
	void *blocks[AGENT_QUARANTINE];
	unsigned n;
	uint64_t since_ns;
};

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
	struct launch *launches;
	void **execs; /* shared: hash set of instantiated graphs */

	/* Of the agent's thread: */
	bool exact, any_api;
	bool forced; /* parsing what a forced flush brought */
	uint32_t ring_mask;
	uint64_t generation, armed_ns, deadline_ns, flushed_ns;
	uint64_t lease_seen, lease_ns;
	uint32_t kinds[3], n_kinds;
	struct clock clock;
	struct names names;
	struct buffers buffers;
	struct quarantine quarantine;
	struct xp_agent_request request; /* a copy: the tool may write the shared one at any time */
	uint32_t *group_index, group_mask, groups;
	size_t group_index_bytes;
	uint64_t contexts_seen[64];
};
extern struct agent xp_agent;

/* life.c */
uint64_t xp_agent_now(void);
void xp_agent_exit(void); /* exit handler */
bool xp_agent_is_live(void);
bool xp_agent_on_own_thread(void);
uint32_t xp_agent_tid(void);
/* Zeroed private memory, or NULL. */
void *xp_agent_map(size_t bytes);
void xp_agent_sleep_ms(unsigned ms);
/* Fills the answer's text. */
int xp_agent_say(uint32_t status, const char *call, int cupti_status, const char *detail);
bool xp_agent_lease_lost(void);
/* The tool has died or given up ARM `sequence`: undo. */
bool xp_agent_cancelled(uint32_t sequence);

/* load.c: libcupti, found and resolved. XP_AGENT_* status. */
int xp_agent_load(void);
#define XP_AGENT_CALL(call)                                                                \
	({                                                                                 \
		__atomic_store_n(&xp_agent.in_cupti, true, __ATOMIC_SEQ_CST);              \
		int rc_ = __atomic_load_n(&xp_agent.exiting, __ATOMIC_SEQ_CST) ? -1 : (xp_agent.cupti.call); \
		__atomic_store_n(&xp_agent.in_cupti, false, __ATOMIC_SEQ_CST);             \
		rc_;                                                                       \
	})

/* arm.c, stop.c */
int xp_agent_arm(uint32_t sequence);
void xp_agent_stop(void);
void xp_agent_tick(void);
void xp_agent_kinds_off(void);
void xp_agent_settle(void);
/* quarantine.c */
bool xp_agent_quarantine_find(void *symbol_in_library);
void xp_agent_unsubscribe(void);
/* Frees what has waited long enough; true when something still waits. */
bool xp_agent_quarantine_release(bool now);

/* callback.c */
cupti_callback_fn xp_agent_callback;
int xp_agent_want_apis(void);
void xp_agent_sum_shards(struct xp_agent_counters *counters);
/* The launch of this id in this capture, or NULL. */
struct launch *xp_agent_launch(uint32_t correlation);
/* Launches that returned and have no record yet. */
uint64_t xp_agent_unmatched(void);

/* activity.c, buffer.c */
int xp_agent_buffers_new(void);
cupti_request_fn xp_agent_buffer_request;
cupti_complete_fn xp_agent_buffer_complete;
/* Parses every completed buffer; returns the number of records. */
uint64_t xp_agent_buffers_read(void);
void xp_agent_record(const uint8_t *record);

/* What activity.c takes from a record, whatever its kind. */
struct activity {
	uint32_t kind; /* XP_CAPTURE_*_START */
	uint64_t start_ns, end_ns;
	uint32_t device, context, stream, correlation, runtime_correlation;
	uint32_t graph;
	uint64_t graph_node;
	uint32_t grid[3], block[3];
	uint64_t bytes, copies;
	uint32_t copy_kind, src_memory, dst_memory;
	const char *name;
	uint32_t flags; /* XP_CAPTURE_* bits of a record */
};

/* clock.c: CUPTI's time -> CLOCK_MONOTONIC. */
void xp_agent_clock_bracket(void);
uint64_t xp_agent_clock_convert(uint64_t cupti_ns);

/* ring.c. False: the ring is full. */
bool xp_agent_ring_put(const struct xp_agent_slot *slot);
/* The same, waiting a while for the tool; on the agent's thread only. */
bool xp_agent_ring_put_slowly(const struct xp_agent_slot *slot);

/* name.c: id in the name table, 0 when it has no room. *ret_filters: those that accept the name. */
int xp_agent_names_new(void);
uint32_t xp_agent_name(const char *text, uint32_t *ret_filters, bool *ret_complete);

/* aggregate.c */
int xp_agent_groups_new(uint32_t capacity);
void xp_agent_group(const struct activity *activity);

#endif
