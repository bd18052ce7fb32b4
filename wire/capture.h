/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI capture files, contract 10.16, ABI 4 (xprobe 0.5) and 5. Little endian. ABI 4: header, records. ABI 5: header, records, name
 * table. Written by the agent's host side, read by result/input_cupti.c.
 */
#ifndef XP_WIRE_CAPTURE_H
#define XP_WIRE_CAPTURE_H

#include "wire/capture_kinds.h"

#define XP_CAPTURE_MAGIC "XPCUPTI" /* and its NUL: 8 bytes */
#define XP_CAPTURE_ABI_4 4
#define XP_CAPTURE_ABI_5 5

#define XP_CAPTURE_HOST_MONOTONIC (1u << 0) /* activity timestamps are normalized */
#define XP_CAPTURE_TRANSFERS (1u << 1)
#define XP_CAPTURE_AGGREGATES (1u << 2) /* records are aggregate records */
#define XP_CAPTURE_NVTX (1u << 3)
#define XP_CAPTURE_MEMORY_KINDS (1u << 4)
#define XP_CAPTURE_NAME_TABLE (1u << 5)	  /* ABI 5 */
#define XP_CAPTURE_GRAPH_FIELDS (1u << 6) /* ABI 5 */

#define XP_CAPTURE_IDLE 0
#define XP_CAPTURE_ACTIVE 1
#define XP_CAPTURE_LIMIT_REACHED 2
#define XP_CAPTURE_STOPPED 3
#define XP_CAPTURE_FAILED 4

#define XP_CAPTURE_UNKNOWN_ID 0xffffffffu

/* Header of both ABIs; ABI 4 ends behind it. */
struct xp_capture_header {
	__u8 magic[8];
	__u32 abi;
	__u32 header_size; /* 88 or 192 */
	__u32 record_size;
	__u32 features; /* XP_CAPTURE_* bits */
	__u32 state;
	__u32 stop_reason; /* 0 none, 1 requested, 2 record limit, 3 CUPTI error, 4 output error */
	__u64 record_count;
	__u64 record_capacity;
	__u64 observed_records;
	__u64 dropped_by_agent;
	__u64 dropped_by_cupti;
	__u64 unknown_records;
	__u64 record_offset; /* 0 in a file */
};
XP_WIRE_SIZE(struct xp_capture_header, 88);

/* What ABI 5 adds behind it. */
struct xp_capture_header_5 {
	__u64 name_offset; /* from the start of the file */
	__u64 name_bytes;
	__u64 name_count;
	__u64 api_launches;
	__u64 activities_seen;
	__u64 graph_launches;
	__u64 invalid_time_records;
	__u64 in_flight_at_stop;
	__u64 filtered;
	__u64 clock_error_ns; /* 2^64-1: unknown */
	__u32 cupti_version;
	__u32 driver_version;
	__u64 stall_ns;
	__u64 callback_count;
};
XP_WIRE_SIZE(struct xp_capture_header_5, 104);

/* Head of an event record of both ABIs. */
struct xp_capture_event {
	__u64 t_ns;
	__u32 kind; /* XP_CAPTURE_API_ENTRY .. */
	__u32 pid;
	__u32 tid;
	__u32 device; /* device .. correlation: 2^32-1 is unknown */
	__u32 context;
	__u32 stream;
	__u32 correlation;
	__u32 callback_domain;
	__u32 callback_id;
	__u32 grid[3];	/* memcpy, memset: bytes low, high, copy kind; NVTX: range id low, high, 1 thread 2 process */
	__u32 block[3]; /* memset: value; NVTX: starting thread, name complete */
	__u32 runtime_correlation;
};
XP_WIRE_SIZE(struct xp_capture_event, 72);

struct xp_capture_event_4 {
	struct xp_capture_event event;
	__u8 name[128]; /* NUL-filled; 127 bytes: cut */
};
XP_WIRE_SIZE(struct xp_capture_event_4, 200);

#define XP_CAPTURE_IN_GRAPH (1u << 0)
#define XP_CAPTURE_GRAPH_PREDATES (1u << 1)
#define XP_CAPTURE_LAUNCH_UNKNOWN (1u << 2)
#define XP_CAPTURE_NAME_COMPLETE (1u << 3)

struct xp_capture_event_5 {
	struct xp_capture_event event;
	__u32 name; /* id in the name table, 0 = none */
	__u32 flags;
	__u32 graph;
	__u16 src_memory, dst_memory;
	__u64 graph_node;
	__u8 zero[32];
};
XP_WIRE_SIZE(struct xp_capture_event_5, 128);

/* Name table entry: this, then `length` bytes, then zeros to a multiple of 8. */
struct xp_capture_name {
	__u32 id;
	__u32 length;
};
XP_WIRE_SIZE(struct xp_capture_name, 8);

#endif
