/* SPDX-License-Identifier: Apache-2.0 */
/* Everything a rule may look at: plain values of one process and one window. NULL: that source is unavailable. */
#ifndef XP_TRIAGE_INPUT_H
#define XP_TRIAGE_INPUT_H

#include "inventory/cgroup.h"
#include "inventory/cpu_samples.h"
#include "inventory/gpu_activity.h"
#include "inventory/gpu_health.h"
#include "inventory/off_cpu.h"
#include "inventory/thread_time.h"
#include "triage/source.h"
#include "triage/syscall_view.h"

struct xp_finding;
struct xp_triage_input;

/* A descendant that was looked at in the same window. */
struct xp_triage_relative {
	const struct xp_triage_input *input;
	const struct xp_finding *best; /* first finding of its own; NULL: none */
};

struct xp_triage_input {
	struct xp_target_id target;
	uint64_t window_ns;
	bool several;	 /* one of several processes in one window: descendants may be targets of their own */
	bool python;	 /* the target maps a Python interpreter */
	bool can_sample; /* this build has `measure --cpu-sample` */
	uint32_t forked; /* processes forked in the window, as far as seen */
	const struct xp_thread_time *threads;
	const struct xp_cgroup *cgroup;
	const struct xp_cpu_samples *cpu;
	const struct xp_syscall_view *syscalls;
	const struct xp_off_cpu_value *off_cpu;
	const struct xp_gpu_activity *cuda_kernels, *cuda_copies;
	bool agent_loaded; /* the agent is in the target, so that a CUDA spec changes nothing there */
	const struct xp_gpu_health *gpu;
	struct xp_triage_source sources[XP_SOURCE_COUNT];
	const struct xp_triage_relative *descendants; /* of several processes */
	size_t n_descendants;
};

static inline bool xp_input_has(const struct xp_triage_input *input, enum xp_source_id id)
{
	return input->sources[id].status == XP_SOURCE_AVAILABLE;
}

/* ns as a share of the window; 0 for an empty window. */
static inline double xp_input_share(const struct xp_triage_input *input, uint64_t ns)
{
	return input->window_ns ? (double)ns / (double)input->window_ns : 0;
}

static inline double xp_input_per_second(const struct xp_triage_input *input, uint64_t count)
{
	return input->window_ns ? (double)count * 1e9 / (double)input->window_ns : 0;
}

/* Time that the group's limit stopped its members in the window; 0 when not known. */
static inline uint64_t xp_input_throttled_ns(const struct xp_triage_input *input)
{
	if (!input->cgroup || !input->cgroup->n_levels)
		return 0;
	const struct xp_opt_u64 *throttled = &input->cgroup->levels[input->cgroup->chosen].throttled_ns;

	return throttled->set ? throttled->v : 0;
}

#endif
