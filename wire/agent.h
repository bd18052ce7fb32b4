/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agent control, version 5 (contract 10.17): the memory file that tool and agent share. In it: struct xp_agent_control, then the name
 * table, then record ring or group table. Both sides treat what the other one wrote as untrusted. Each member says who writes it.
 */
#ifndef XP_WIRE_AGENT_H
#define XP_WIRE_AGENT_H

#include "wire/agent_codes.h"
#include "wire/agent_counters.h"
#include "wire/agent_nvtx.h"
#include "wire/capture.h"

/* Identity and word keep their places in every version: an agent of another one is told by them. */
struct xp_agent_identity { /* written by the agent */
	__u8 magic[8];
	__u32 version;
	__u32 control_size;
	__u32 owner_pid, agent_tid;	     /* in the target's PID namespace */
	__u64 owner_start_time;		     /* clock ticks; 0: /proc could not be read */
	__u32 cupti_version, driver_version; /* 0 until known */
	__u64 first_subscribe_ns;	     /* CLOCK_MONOTONIC of the process's first subscription by us, 0: none */
	__u32 build_id_bytes;
	__u8 build_id[20];
	__u8 pad[56];
};
XP_WIRE_SIZE(struct xp_agent_identity, 128);

struct xp_agent_word {
	__u32 sequence; /* tool raises it behind the request; futex (shared) */
	__u32 command;	/* tool */
	__u32 cancel;	/* tool: the sequence of an ARM that it gave up */
	__u32 reply;	/* agent: sequence answered; futex (shared) */
	__u32 status;	/* agent: of that answer */
	__u32 cupti_status;
	__u32 state;	 /* agent: XP_AGENT_IDLE .. */
	__u32 ended;	 /* agent: XP_AGENT_ENDED_*; 0: not by itself */
	char call[32];	 /* agent: CUPTI call of the answer, NUL-filled */
	char detail[64]; /* agent: text of the answer */
};
XP_WIRE_SIZE(struct xp_agent_word, 128);

struct xp_agent_lease {		 /* written by the tool */
	__u64 owner;		 /* random, not 0; 0: free. Taken by compare-and-swap */
	__u64 renewals;		 /* raised each 100 ms; the agent asks only whether it moved */
	__u64 renewed_ns;	 /* CLOCK_MONOTONIC, for other tools */
	__u64 open_ns, close_ns; /* the window on the target's clock; 0: not yet */
	__u32 tool_pid, pad;
	char session[80];
};
XP_WIRE_SIZE(struct xp_agent_lease, 128);

struct xp_agent_filter {
	__u32 kind;	 /* of the records, wire/capture.h; aggregate mode: the start kind */
	__u32 domain;	 /* API: 0 any, 1 driver, 2 runtime */
	__u32 copy_kind; /* CUPTI's number, 0: any */
	__u32 match;	 /* XP_AGENT_MATCH_*; names of APIs are compared folded */
	char name[XP_AGENT_NAME_BYTES];
};
XP_WIRE_SIZE(struct xp_agent_filter, 144);

struct xp_agent_request { /* written by the tool before ARM */
	__u32 mode, flags;
	__u32 n_filters;
	__u32 capacity;	   /* records of the ring (power of two) or groups */
	__u64 deadline_ns; /* duration, from ARM on */
	__u32 wait_ms;	   /* at most this long for launches without a record at the stop */
	__u32 cuda_major;  /* which libcupti where several are mapped; 0: the only one */
	struct xp_agent_filter filters[XP_AGENT_FILTERS];
	char cupti_path[512]; /* loaded when none is mapped; "" none */
};
XP_WIRE_SIZE(struct xp_agent_request, 1696);

struct xp_agent_control {
	struct xp_agent_identity identity;
	struct xp_agent_word word;
	struct xp_agent_lease lease;
	struct xp_agent_request request;
	char cupti_path[512]; /* agent: the copy in use */
	struct xp_agent_counters counters;
	__u64 names_bytes, names_count; /* agent: complete entries of the name table */
	__u64 groups;			/* agent: used entries of the group table */
	__u64 captures;			/* agent: raised at ARM once names, ring and groups are empty */
	struct xp_agent_nvtx nvtx;
	__u64 clock_error_ns; /* agent: bound of the error of its own times against CLOCK_MONOTONIC; 0: they are that clock's */
	__u64 pad[5];
	__u64 head; /* producers: records reserved. Lines of their own, since callbacks and the tool write them */
	__u64 pad_head[7];
	__u64 tail; /* tool: records read */
	__u64 pad_tail[7];
};
XP_WIRE_SIZE(struct xp_agent_control, 3184);

/* One place of the ring: complete when `commit` is its position + 1. The tool clears `commit` in its copy: a 10.16 record. */
struct xp_agent_slot {
	struct xp_capture_event event;
	__u32 name, flags, graph;
	__u16 src_memory, dst_memory;
	__u64 graph_node;
	__u64 commit;
	__u8 zero[24];
};
XP_WIRE_SIZE(struct xp_agent_slot, 128);
_Static_assert(__builtin_offsetof(struct xp_agent_slot, commit) == __builtin_offsetof(struct xp_capture_event_5, zero),
	       "a slot is a record");

#endif
