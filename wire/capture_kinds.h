/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of the records of contract 10.16, and the aggregate record. */
#ifndef XP_WIRE_CAPTURE_KINDS_H
#define XP_WIRE_CAPTURE_KINDS_H

#include "wire/wire.h"

/* Kinds of event records; an aggregate has the start's. */
#define XP_CAPTURE_API_ENTRY 1u
#define XP_CAPTURE_API_EXIT 2u
#define XP_CAPTURE_KERNEL_START 3u
#define XP_CAPTURE_KERNEL_END 4u
#define XP_CAPTURE_MEMCPY_START 5u
#define XP_CAPTURE_MEMCPY_END 6u
#define XP_CAPTURE_MEMSET_START 7u
#define XP_CAPTURE_MEMSET_END 8u
#define XP_CAPTURE_NVTX_START 9u
#define XP_CAPTURE_NVTX_END 10u
#define XP_CAPTURE_KIND_COUNT 11u

/* Aggregate record of ABI 5: the activities of one kind, name and device. */
struct xp_capture_aggregate_5 {
	__u64 count, total_ns, min_ns, max_ns, bytes;
	__u32 kind; /* 3 kernel, 5 memcpy, 7 memset */
	__u32 device, copy_kind;
	__u32 src_memory, dst_memory;
	__u32 name;
	__u64 in_graph;
	__u32 buckets[40]; /* log2 of ns */
	__u64 zero;
};
XP_WIRE_SIZE(struct xp_capture_aggregate_5, 240);

#endif
