/* SPDX-License-Identifier: Apache-2.0 */
/* Globals that an NVTX header compiles into each library that includes it, and the agent's part of the state that has to do with them. */
#ifndef XP_AGENT_NVTX_STATE_H
#define XP_AGENT_NVTX_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/agent.h"

/* Slots by module, in the order of the globals. */
enum { NVTX_CORE = 0, NVTX_CORE2 = 43, NVTX_SLOTS = 64 };
enum { NVTX_FRESH = 0, NVTX_STARTED = 1, NVTX_COMPLETE = 2, NVTX_VERSION = 3 };
enum { NVTX_MESSAGE_ASCII = 1, NVTX_MESSAGE_WIDE = 2, NVTX_MESSAGE_REGISTERED = 3 };
enum { NVTX_NO_TRACKING = -2 }; /* what a push or pop returns without a tool */

/* As of NVTX 3.0.1 to 3.5; any other shape is left alone. */
struct nvtx_globals {
	uint32_t state, pad;
	uint64_t callbacks_size; /* 16 */
	void *get_table;
	uint64_t version_size; /* 24 */
	uint32_t version, reserved;
	void *set_version;
	void *slots[NVTX_SLOTS]; /* functions; NULL: no tool; the header's own until the first call */
	void **core[17], **cuda[10], **opencl[16], **cudart[8], **core2[17], **sync[8];
};
_Static_assert(sizeof(struct nvtx_globals) == 1168, "layout of the NVTX header");

struct nvtx_attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type, pad;
	const void *message;
};

enum { NVTX_THREADS = 4096, NVTX_DEPTH = 64, NVTX_RANGES = 1 << 16, NVTX_DOMAINS = 1024, NVTX_STRINGS = 1 << 14 };

struct nvtx_frame {
	uint32_t name; /* id, 0: no filter wants it */
	uint16_t domain, level;
	uint8_t bits; /* filters that accept the text */
	bool inside;  /* began in the window */
	bool complete;
};

/* Touched by its own thread alone, but for `owner`, and `busy` that the stop waits for. */
struct nvtx_thread {
	uintptr_t owner; /* address of the thread's block */
	uint32_t tid, busy;
	uint64_t generation; /* of the capture that the frames belong to */
	uint32_t depth, over;
	uint64_t calls;
	struct nvtx_frame frames[NVTX_DEPTH];
};

/* A range that may end on another thread. Its place follows from its id. */
struct nvtx_range {
	uint64_t id; /* shared: 0 free */
	uint32_t tid;
	struct nvtx_frame frame;
};

/* A copy with our functions in it. */
struct nvtx_copy {
	struct nvtx_globals *at;
	uint64_t ours;		  /* bit i: slot i is ours */
	void *before[NVTX_SLOTS]; /* what to put back there */
	uint32_t ready;		  /* shared: filled */
};

struct nvtx_texts {
	struct xp_agent_nvtx_text *at; /* shared: open addressing by hash */
	uint32_t capacity;
};

struct nvtx {
	uint64_t generation; /* shared: 0 no capture */
	uint8_t start_bits, end_bits;
	uint8_t same_as[XP_AGENT_FILTERS]; /* first filter with the same pattern */
	struct nvtx_thread *threads;
	uint16_t *used;	 /* shared: places of threads that are taken, in the order of their first call */
	uint32_t n_used; /* shared */
	struct nvtx_range *ranges;
	uint64_t next_range;	  /* shared */
	struct nvtx_copy *copies; /* XP_AGENT_SITES */
	uint32_t n_copies;	  /* shared: places taken */
	struct nvtx_texts names, domains, strings;
	uint64_t unnamed, unplaced; /* shared */
	bool foreign_start;	    /* the environment names another tool, which unused copies will load */
};

#endif
