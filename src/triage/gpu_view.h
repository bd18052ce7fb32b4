/* SPDX-License-Identifier: Apache-2.0 */
/* What rules ask of GPU activities: devices judged one by one, and threads under CUDA calls. */
#ifndef XP_TRIAGE_GPU_VIEW_H
#define XP_TRIAGE_GPU_VIEW_H

#include "triage/finding.h"
#include "triage/input.h"

enum { XP_GPU_DEVICES = 16 };

/* One device in the window. Kernels that overlap count each for itself, so `busy` is an upper bound. */
struct xp_gpu_load {
	struct xp_opt_u32 index; /* unset: activities whose device is not known */
	uint64_t kernels, kernel_ns, copy_ns;
	double busy;			/* min(1, kernel_ns / window) */
	const struct xp_gpu_group *top; /* kernel group with most time; NULL: no kernel */
};
/* Devices with kernels or copies, by kernel time falling, at most XP_GPU_DEVICES. */
size_t xp_gpu_loads(const struct xp_triage_input *input, struct xp_gpu_load devices[XP_GPU_DEVICES]);
/* The device that a group ran on, out of that list. NULL: it is beyond the list. */
const struct xp_gpu_load *xp_gpu_load_of(const struct xp_gpu_load *devices, size_t n, const struct xp_gpu_group *group);
/* "0", "unknown"; in the arena. */
const char *xp_gpu_device_name(struct xp_arena *arena, struct xp_opt_u32 index);
/* What a kernel is called in a sentence: its function, else its name; at most 256 bytes, in the arena. */
const char *xp_gpu_kernel_name(struct xp_arena *arena, const struct xp_gpu_group *group);
/* Part of the window that a thread spent under CUDA calls of a kind, running or blocked. */
double xp_gpu_call_share(const struct xp_triage_input *input, uint32_t tid, enum xp_cuda_call_kind kind);
/* The largest such part among all threads; *ret_tid: whose, 0: none. */
double xp_gpu_most_under(const struct xp_triage_input *input, enum xp_cuda_call_kind kind, uint32_t *ret_tid);

/* rule_gpu_launch_bound.c: short kernels, many of them, and idle in between; gpu_idle is about the other devices. */
bool xp_gpu_is_launch_bound(const struct xp_triage_input *input, const struct xp_gpu_load *device);
/* rule_gpu_pageable_copies.c: some copy of the window has a pageable host side. */
bool xp_gpu_copies_pageable(const struct xp_triage_input *input);

/* next: measure between two CUDA selectors, sized for `per_second` starts. Says whether the agent would have to be brought again. */
struct xp_next_gpu {
	const char *name; /* of the spec, without triage_ */
	double per_second;
	enum xp_policy_id policy;
	const char *from, *to;
};
void xp_next_gpu(const struct xp_triage_input *input, struct xp_findings *list, struct xp_finding *finding, const struct xp_next_gpu *next);
/* next: every start -> end of that group. */
void xp_next_gpu_group(const struct xp_triage_input *input, struct xp_findings *list, struct xp_finding *finding,
		       const struct xp_gpu_group *group, const char *name);

#endif
