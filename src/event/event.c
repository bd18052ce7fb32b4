/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the enums of contract 10.1. No state. */
#include "event/event.h"

const char *const xp_event_type_names[XP_EV_TYPE_COUNT] = {
	[XP_EV_HOST_FUNCTION_ENTRY] = "host_function_entry",
	[XP_EV_HOST_FUNCTION_EXIT] = "host_function_exit",
	[XP_EV_KERNEL_FUNCTION_ENTRY] = "kernel_function_entry",
	[XP_EV_KERNEL_FUNCTION_EXIT] = "kernel_function_exit",
	[XP_EV_TRACEPOINT] = "tracepoint",
	[XP_EV_SYSCALL_ENTRY] = "syscall_entry",
	[XP_EV_SYSCALL_EXIT] = "syscall_exit",
	[XP_EV_PYTHON_GC_START] = "python_gc_start",
	[XP_EV_PYTHON_GC_END] = "python_gc_end",
	[XP_EV_CUDA_API_ENTRY] = "cuda_api_entry",
	[XP_EV_CUDA_API_EXIT] = "cuda_api_exit",
	[XP_EV_GPU_KERNEL_START] = "gpu_kernel_start",
	[XP_EV_GPU_KERNEL_END] = "gpu_kernel_end",
	[XP_EV_GPU_MEMCPY_START] = "gpu_memcpy_start",
	[XP_EV_GPU_MEMCPY_END] = "gpu_memcpy_end",
	[XP_EV_GPU_MEMSET_START] = "gpu_memset_start",
	[XP_EV_GPU_MEMSET_END] = "gpu_memset_end",
	[XP_EV_NVTX_RANGE_START] = "nvtx_range_start",
	[XP_EV_NVTX_RANGE_END] = "nvtx_range_end",
	[XP_EV_MARKER] = "marker",
};

const char *const xp_event_source_names[XP_SRC_COUNT] = {
	[XP_SRC_EBPF] = "ebpf",
	[XP_SRC_CUPTI_CALLBACK] = "cupti_callback",
	[XP_SRC_CUPTI_ACTIVITY] = "cupti_activity",
	[XP_SRC_MARKER] = "marker",
};

const char *const xp_clock_domain_names[XP_CLOCK_COUNT] = {
	[XP_CLOCK_HOST] = "host_monotonic",
	[XP_CLOCK_CUPTI] = "cupti",
	[XP_CLOCK_CUPTI_NORMALIZED] = "cupti_normalized_to_host_monotonic",
};

const char *const xp_probe_kind_names[XP_PROBE_KIND_COUNT] = {
	[XP_PROBE_UPROBE] = "uprobe",	    [XP_PROBE_URETPROBE] = "uretprobe",	  [XP_PROBE_KPROBE] = "kprobe",
	[XP_PROBE_KRETPROBE] = "kretprobe", [XP_PROBE_TRACEPOINT] = "tracepoint", [XP_PROBE_SYSCALL] = "syscall",
	[XP_PROBE_USDT] = "usdt",
};

const char *const xp_memcpy_kind_names[XP_COPY_KIND_COUNT] = {
	[XP_COPY_HTOD] = "HtoD", [XP_COPY_DTOH] = "DtoH", [XP_COPY_DTOD] = "DtoD",
	[XP_COPY_HTOH] = "HtoH", [XP_COPY_PTOP] = "PtoP", [XP_COPY_UNKNOWN] = "unknown",
};

const char *const xp_memory_kind_names[XP_MEMORY_KIND_COUNT] = {
	[XP_MEMORY_UNKNOWN] = "unknown",
	[XP_MEMORY_PAGEABLE] = "pageable",
	[XP_MEMORY_PINNED] = "pinned",
	[XP_MEMORY_DEVICE] = "device",
	[XP_MEMORY_ARRAY] = "array",
	[XP_MEMORY_MANAGED] = "managed",
	[XP_MEMORY_DEVICE_STATIC] = "device_static",
	[XP_MEMORY_MANAGED_STATIC] = "managed_static",
};

enum xp_event_group xp_event_group_of(enum xp_event_type type)
{
	if (type >= XP_EV_CUDA_API_ENTRY && type <= XP_EV_GPU_MEMSET_END)
		return XP_GROUP_CUDA;
	return type == XP_EV_NVTX_RANGE_START || type == XP_EV_NVTX_RANGE_END ? XP_GROUP_NVTX : XP_GROUP_HOST;
}
