/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agent control, version 5 (contract 10.17): the memory file that tool and agent share. In it: struct xp_agent_control, then the name table,
 * then record ring or group table. Both sides treat what the other one wrote as untrusted. Each member says who writes it.
 */
#ifndef XP_WIRE_AGENT_H
#define XP_WIRE_AGENT_H

#include "wire/capture.h"

#define XP_AGENT_MEMFD "xprobe-agent-5"
#define XP_AGENT_MAGIC "XPCTRL\0" /* and its NUL: 8 bytes */
#define XP_AGENT_VERSION 5

/* The file is sparse and grows at ARM; it is sealed against shrinking. */
#define XP_AGENT_NAMES_OFFSET (64u << 10)
#define XP_AGENT_DATA_OFFSET (16u << 20) /* ring or groups */
#define XP_AGENT_DATA_MAX (256u << 20)
#define XP_AGENT_FILE_MAX (XP_AGENT_DATA_OFFSET + XP_AGENT_DATA_MAX)
#define XP_AGENT_RING_MAX (1u << 18) /* records; a power of two */
#define XP_AGENT_NAME_MAX 65536u     /* a name of this length is cut */

#define XP_AGENT_ARM 1
#define XP_AGENT_STOP 2
#define XP_AGENT_STATUS 3

#define XP_AGENT_IDLE 0
#define XP_AGENT_ARMING 1
#define XP_AGENT_ARMED 2
#define XP_AGENT_STOPPING 3
#define XP_AGENT_GONE 4 /* the process is exiting */

/* Reply status. */
#define XP_AGENT_OK 0
#define XP_AGENT_BAD_REQUEST 1	    /* detail says what */
#define XP_AGENT_NO_CUDA 2	    /* no libcuda mapped, or never initialised */
#define XP_AGENT_NO_CUPTI 3	    /* detail: the places tried */
#define XP_AGENT_UNSUPPORTED 4	    /* this CUPTI version cannot be stopped safely */
#define XP_AGENT_BUSY 5		    /* another CUPTI subscriber; detail: its name */
#define XP_AGENT_CALL_FAILED 6	    /* call and cupti_status say which */
#define XP_AGENT_UNKNOWN_API 7	    /* detail: the name */
#define XP_AGENT_NO_MEMORY 8	    /* detail: what could not be had */
#define XP_AGENT_CANCELLED 9	    /* ARM given up by the tool or its lease; everything undone */
#define XP_AGENT_WRONG_STATE 10	    /* ARM while armed */
#define XP_AGENT_NO_QUARANTINE 11   /* libcupti's import of free was not found */

#define XP_AGENT_EXACT 1
#define XP_AGENT_AGGREGATE 2

#define XP_AGENT_RECORDS_ONLY 1u /* flags of ARM: activities without a subscription */

#define XP_AGENT_MATCH_ANY 0
#define XP_AGENT_MATCH_EXACT 1
#define XP_AGENT_MATCH_PREFIX 2
#define XP_AGENT_MATCH_SUFFIX 3
#define XP_AGENT_MATCH_CONTAINS 4
#define XP_AGENT_MATCH_LAUNCH 5 /* API: every call that launches kernels or graphs */

#define XP_AGENT_FILTERS 8
#define XP_AGENT_NAME_BYTES 128 /* of a filter, NUL included */
#define XP_AGENT_ANY_COPY 0

struct xp_agent_identity { /* written by the agent */
	__u8 magic[8];
	__u32 version;
	__u32 control_size;
	__u32 owner_pid, agent_tid; /* in the target's PID namespace */
	__u64 owner_start_time;	    /* clock ticks; 0: /proc could not be read */
	__u32 cupti_version, driver_version; /* 0 until known */
	__u64 first_subscribe_ns;   /* CLOCK_MONOTONIC of the process's first subscription by us, 0: none */
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
	__u32 state; /* agent: XP_AGENT_IDLE .. */
	__u32 ended; /* agent: the capture was ended by 1 lease, 2 deadline, 3 exit */
	char call[32];	 /* agent: CUPTI call of the answer, NUL-filled */
	char detail[64]; /* agent: text of the answer */
};
XP_WIRE_SIZE(struct xp_agent_word, 128);

struct xp_agent_lease { /* written by the tool */
	__u64 owner;	  /* random, not 0; 0: free. Taken by compare-and-swap */
	__u64 renewals;	  /* raised each 100 ms; the agent asks only whether it moved */
	__u64 renewed_ns; /* CLOCK_MONOTONIC, for other tools */
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

/* Counters of contract 15.1, from ARM on; written by the agent, exact once a STOP is answered. */
struct xp_agent_counters {
	__u64 callbacks;			    /* times that ours ran */
	__u64 api_launches, graph_launches;	    /* driver calls seen in the window */
	__u64 first_launch_ns;			    /* 0: none */
	__u64 callback_records, callback_dropped;   /* written; ring full */
	__u64 activities_seen;			    /* every record of a wanted kind that CUPTI gave */
	__u64 activity_records, activity_dropped;   /* as above */
	__u64 activities_grouped, activities_ungrouped; /* aggregate mode: in a group; table full */
	__u64 filtered;				    /* activities in the window that no filter wants */
	__u64 outside;				    /* activities that began outside the window */
	__u64 invalid_times;
	__u64 in_flight; /* launches without a record at the stop, zero-time records of the last flush included */
	__u64 cupti_dropped;
	__u64 buffers_refused;	       /* requests that the pool could not serve */
	__u64 names_dropped;	       /* records whose name had no room */
	__u64 unknown_records;
	__u64 late_exits;	       /* exits of calls that began before the window or in an earlier capture */
	__u64 graph_predates;	       /* activities of graphs built before the capture */
	__u64 launch_unknown;	       /* kernels and graph activities without a launch call */
	__u64 stray;		       /* of them younger than the first launch seen */
	__u64 duplicate_ids;	       /* one correlation id on two launches */
	__u64 worst_violation_ns;      /* kernel began this much before its launch call */
	__u64 bracket_ns;	       /* widest clock bracket in use */
	__u64 clock_steps;
	__u64 stall_ns;		       /* of the subscription, when it was the process's first */
	__u64 contexts;
	__u64 stop_ns;		       /* how long the last stop took */
	__u64 buffer_bytes;	       /* memory of the buffer pool */
	__u64 pad[3];
};
XP_WIRE_SIZE(struct xp_agent_counters, 272);

struct xp_agent_control {
	struct xp_agent_identity identity;
	struct xp_agent_word word;
	struct xp_agent_lease lease;
	struct xp_agent_request request;
	char cupti_path[512];		    /* agent: the copy in use */
	struct xp_agent_counters counters;
	__u64 names_bytes, names_count;	    /* agent: complete entries of the name table */
	__u64 groups;			    /* agent: used entries of the group table */
	__u64 pad[21];
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
_Static_assert(__builtin_offsetof(struct xp_agent_slot, commit) == __builtin_offsetof(struct xp_capture_event_5, zero), "a slot is a record");

#endif
