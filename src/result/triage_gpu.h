/* SPDX-License-Identifier: Apache-2.0 */
/* `summary.cuda_kernels` and `summary.cuda_copies` of a TriageResult. */
#ifndef XP_RESULT_TRIAGE_GPU_H
#define XP_RESULT_TRIAGE_GPU_H

#include "base/field.h"

struct xp_gpu_group;
struct xp_triage_input;

struct xp_triage_top_kernel {
	const char *name, *function; /* function NULL: as the name */
	uint64_t count, total_ns;
	double mean_ns;
	struct xp_opt_u32 device_id;
};

/* One device, for people. */
struct xp_triage_load {
	const char *name;
	uint64_t kernels;
	double busy, copying; /* of the window */
};

struct xp_triage_cuda_kernels {
	uint64_t kernels;
	struct xp_opt_f64 busy_share; /* of the busiest device; unset: no kernel */
	uint64_t groups, launches, graph_launches;
	const struct xp_triage_top_kernel *top;
	size_t n_top;
	const struct xp_triage_load *devices; /* not written */
	size_t n_devices;
};
extern const struct xp_record xp_triage_cuda_kernels_record;

struct xp_triage_copies {
	int activity, memcpy_kind, src_memory, dst_memory; /* -1: not a copy */
	struct xp_opt_u32 device_id;
	uint64_t count, total_ns;
	struct xp_opt_u64 total_bytes;
};

struct xp_triage_cuda_copies {
	uint64_t copies, bytes, total_ns, sets;
	const struct xp_triage_copies *groups;
	size_t n_groups;
};
extern const struct xp_record xp_triage_cuda_copies_record;

/* NULL: the source is unavailable. In the arena. */
struct xp_triage_cuda_kernels *xp_triage_sum_kernels(const struct xp_triage_input *input, struct xp_arena *arena);
struct xp_triage_cuda_copies *xp_triage_sum_copies(const struct xp_triage_input *input, struct xp_arena *arena);

#endif
