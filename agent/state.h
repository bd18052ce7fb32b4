/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of the agent and the parts of its state. "shared": written on application threads, atomically. */
#ifndef XP_AGENT_STATE_H
#define XP_AGENT_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "agent/cupti_calls.h"
#include "agent/tsc.h"
#include "wire/agent.h"

enum {
	AGENT_CBIDS = 2048,  /* callback ids told apart, per domain; CUPTI 13.2 has 846 */
	AGENT_SHARDS = 1024, /* counter lines of application threads; the last one is shared */
	AGENT_SHARD_TRIES = 8,
	AGENT_LAUNCHES = 1 << 18, /* launches that may wait for their record */
	AGENT_BUFFER_BYTES = 128 << 10,
	AGENT_BUFFERS = 256,
	AGENT_WARM_BUFFERS = 32, /* touched at arm, so that application threads find them mapped */
	AGENT_NAMES = 1 << 16,
	AGENT_STACK_BYTES = 2 << 20, /* of the agent's thread */
	AGENT_EXECS = 4096,	     /* graphs instantiated in a capture */
	AGENT_EPOCHS = 16,	     /* clock steps told apart in a capture */
	AGENT_TICK_MS = 50,
	AGENT_LEASE_MS = 1000,
	AGENT_QUARANTINE = 512,	    /* blocks; one stop keeps 5 */
	AGENT_QUARANTINE_ROOM = 64, /* free places before a capture begins */
	AGENT_QUARANTINE_MS = 200,
};
#define AGENT_NS_PER_MS 1000000ull
#define AGENT_NS_PER_S 1000000000ull
#define AGENT_LIVE 0x786c6976656c6976ull

/* What a callback id is wanted for. */
enum {
	WANT_ENTRY = 1,
	WANT_EXIT = 2,
	WANT_LAUNCH = 4,
	WANT_GRAPH = 8,
	WANT_INSTANTIATE = 16,
	WANT_CAPTURE_BEGIN = 256,
	WANT_CAPTURE_END = 512
};

/* State of a launch in its slot; the key is correlation << 32 | generation << 8 | state. CAPTURED: perhaps, some stream was then. */
enum { LAUNCH_RETURNED = 1, LAUNCH_SEEN = 2, LAUNCH_FAILED = 4, LAUNCH_GRAPH = 8, LAUNCH_KNOWN_EXEC = 16, LAUNCH_CAPTURED = 32 };
struct launch {
	uint64_t key;
	uint64_t entry_ns;
};

struct shard {
	uint64_t owner; /* the thread's block; 0: nobody's, or everybody's */
	uint64_t callbacks, api_launches, graph_launches, dropped, late_exits, duplicates;
	uint64_t last_ns; /* its times never go back */
} __attribute__((aligned(64)));

/* Shared: read by callbacks, written while no capture runs, except generation and the stop marks. */
struct capture_view {
	uint64_t generation; /* 0: no capture. The callback's user data must equal it */
	bool no_launches;    /* the stop began: launches from here on have no record */
	bool graphs;	     /* track instantiation */
	bool timing;	     /* launch calls are timed, no kind being on; so they are behind the stop mark */
	uint16_t want[2][AGENT_CBIDS];
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
	uint64_t used;	   /* bytes of the region */
	uint32_t *buckets; /* AGENT_NAMES, index + 1 */
	struct name_cache {
		const char *text;
		uint32_t name; /* index + 1 */
	} * cache;	       /* AGENT_NAME_CACHE, by address */
};
enum { AGENT_NAME_CACHE = 4096 };

struct buffers {
	uint8_t *memory;
	uint64_t free;		      /* shared: tag << 32 | index + 1 of the first free one */
	uint32_t next[AGENT_BUFFERS]; /* shared: index + 1 */
	uint64_t done;		      /* shared: the same; completed ones, newest first */
	uint64_t turned;	      /* shared: the same; being read, oldest first */
	uint32_t valid[AGENT_BUFFERS];
	uint64_t requested, refused; /* shared */
	uint64_t lost_bytes;	     /* shared: of completed ones that were handed out again unread */
	uint32_t waiting;	     /* shared: completed ones not parsed yet */
	uint64_t read, read_bytes;   /* records, and what they took */
};

struct quarantine {
	void **entry; /* libcupti's import of free */
	void (*real)(void *block);
	struct kept {
		void *block;
		uint64_t since_ns;
	} kept[AGENT_QUARANTINE]; /* oldest first */
	unsigned n;
};

#endif
