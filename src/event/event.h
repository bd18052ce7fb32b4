/* SPDX-License-Identifier: Apache-2.0 */
/* One observed moment, whatever source it came from. Later stages look at shape, role and keys, never at the source. */
#ifndef XP_EVENT_EVENT_H
#define XP_EVENT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/flag.h"

/* Contract 10.1 `event_type`, in its order. */
enum xp_event_type {
	XP_EV_HOST_FUNCTION_ENTRY,
	XP_EV_HOST_FUNCTION_EXIT,
	XP_EV_KERNEL_FUNCTION_ENTRY,
	XP_EV_KERNEL_FUNCTION_EXIT,
	XP_EV_TRACEPOINT,
	XP_EV_SYSCALL_ENTRY,
	XP_EV_SYSCALL_EXIT,
	XP_EV_PYTHON_GC_START,
	XP_EV_PYTHON_GC_END,
	XP_EV_CUDA_API_ENTRY,
	XP_EV_CUDA_API_EXIT,
	XP_EV_GPU_KERNEL_START,
	XP_EV_GPU_KERNEL_END,
	XP_EV_GPU_MEMCPY_START,
	XP_EV_GPU_MEMCPY_END,
	XP_EV_GPU_MEMSET_START,
	XP_EV_GPU_MEMSET_END,
	XP_EV_NVTX_RANGE_START,
	XP_EV_NVTX_RANGE_END,
	XP_EV_MARKER,
	XP_EV_TYPE_COUNT
};
extern const char *const xp_event_type_names[XP_EV_TYPE_COUNT];

enum xp_event_source { XP_SRC_EBPF, XP_SRC_CUPTI_CALLBACK, XP_SRC_CUPTI_ACTIVITY, XP_SRC_MARKER, XP_SRC_COUNT };
extern const char *const xp_event_source_names[XP_SRC_COUNT];

enum xp_clock_domain { XP_CLOCK_HOST, XP_CLOCK_CUPTI, XP_CLOCK_CUPTI_NORMALIZED, XP_CLOCK_COUNT };
extern const char *const xp_clock_domain_names[XP_CLOCK_COUNT]; /* host_monotonic, cupti, cupti_normalized_to_host_monotonic */

/* Contract 10.1 `host.probe_kind`. */
enum xp_probe_kind {
	XP_PROBE_UPROBE,
	XP_PROBE_URETPROBE,
	XP_PROBE_KPROBE,
	XP_PROBE_KRETPROBE,
	XP_PROBE_TRACEPOINT,
	XP_PROBE_SYSCALL,
	XP_PROBE_USDT,
	XP_PROBE_KIND_COUNT
};
extern const char *const xp_probe_kind_names[XP_PROBE_KIND_COUNT];

/* Contract 10.7 `src_memory`, `dst_memory`; the numbers are CUPTI's. */
enum xp_memory_kind {
	XP_MEMORY_UNKNOWN,
	XP_MEMORY_PAGEABLE,
	XP_MEMORY_PINNED,
	XP_MEMORY_DEVICE,
	XP_MEMORY_ARRAY,
	XP_MEMORY_MANAGED,
	XP_MEMORY_DEVICE_STATIC,
	XP_MEMORY_MANAGED_STATIC,
	XP_MEMORY_KIND_COUNT
};
extern const char *const xp_memory_kind_names[XP_MEMORY_KIND_COUNT];

/* Contract 10.1 `cuda.memcpy_kind`. */
enum xp_memcpy_kind { XP_COPY_HTOD, XP_COPY_DTOH, XP_COPY_DTOD, XP_COPY_HTOH, XP_COPY_PTOP, XP_COPY_UNKNOWN, XP_COPY_KIND_COUNT };
extern const char *const xp_memcpy_kind_names[XP_COPY_KIND_COUNT];

/* Which of the three sub-objects of contract 10.1 an event of this type carries. */
enum xp_event_group { XP_GROUP_HOST, XP_GROUP_CUDA, XP_GROUP_NVTX };
enum xp_event_group xp_event_group_of(enum xp_event_type type);

#define XP_ERROR_UNKNOWN UINT64_MAX /* error_ns: no bound known */
#define XP_NO_DETAIL UINT32_MAX

/*
 * Fixed 88 bytes; a capture holds an array of them. `endpoints` is the bit set of plan endpoints that select this event. `site` indexes
 * the capture's site table (host) or name table (CUDA, NVTX). `detail` indexes side storage of the store, XP_NO_DETAIL when there is none.
 */
struct xp_event {
	uint64_t t_ns;	   /* comparable time, see clock */
	uint64_t sequence; /* position in the merged capture */
	uint64_t error_ns; /* alignment error bound; 0: the host clock itself; XP_ERROR_UNKNOWN */
	uint32_t pid, tid;
	uint32_t endpoints;
	uint32_t site;
	uint32_t detail;
	uint16_t flags;	  /* enum xp_event_flag */
	uint16_t process; /* index into the store's start times, see xp_store_process */
	uint8_t type, source, clock, cpu_valid;
	uint32_t cpu;
	union {
		struct {
			uint64_t sp;	/* function probes: the frame's own stack pointer (slot of the return address) */
			uint64_t key;	/* goroutine pointer, or 0 */
			int64_t result; /* syscall exit */
		} host;
		struct {
			uint32_t device, context, correlation, graph;
			uint64_t stream;
		} gpu;
	};
	uint32_t syscall_nr; /* syscalls; also restart_syscall and rt_sigreturn when followed */
	uint32_t node_index; /* graph node: index into side storage, or 0 */
};
_Static_assert(sizeof(struct xp_event) <= 96, "a retained event stays far below 128 bytes");

#endif
