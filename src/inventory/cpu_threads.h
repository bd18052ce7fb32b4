/* SPDX-License-Identifier: Apache-2.0 */
/* What one thread's samples say as a whole, for rules that judge threads. */
#ifndef XP_INVENTORY_CPU_THREADS_H
#define XP_INVENTORY_CPU_THREADS_H

#include "inventory/cuda_call.h"

/* Samples that interrupted the kernel inside one system call. */
struct xp_cpu_call {
	const char *name; /* as selectors name it */
	uint64_t samples;
};

struct xp_cpu_thread {
	uint32_t tid;
	const char *name, *name_pattern;
	uint64_t samples;
	uint64_t kernel_samples;	 /* without those that wait for a GPU */
	uint64_t fault_samples;		 /* of kernel_samples: in page faults of user code */
	uint64_t gc_samples;		 /* under Python's garbage collector */
	const struct xp_cpu_call *calls; /* by samples falling */
	size_t n_calls;
	const struct xp_cuda_use *cuda; /* samples under CUDA calls, most first */
	size_t n_cuda;
};

#endif
