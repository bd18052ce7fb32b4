/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes the numbers of NVML mean. A number counts for a process that has it in any PID namespace, maps libcuda and holds the
 * device file; equal numbers alone say nothing. What cannot be tied is told, never guessed.
 */
#ifndef XP_ENGINE_GPU_HOLDERS_H
#define XP_ENGINE_GPU_HOLDERS_H

#include "base/arena.h"
#include "engine/nvml.h"
#include "target/target.h"

/* One entry of NVML's lists. */
struct xp_gpu_part {
	uint32_t device; /* position in the list's devices */
	int32_t mig;	 /* position in the device's migs, -1: none */
	struct xp_opt_u64 memory;
};

struct xp_gpu_holder {
	struct xp_target_id id;
	struct xp_gpu_part *parts;
	size_t n_parts;
};

struct xp_gpu_holders {
	struct xp_gpu_holder *at; /* by pid */
	size_t n;
	const uint32_t *unknown; /* numbers of NVML that no visible process answers to, rising, each once */
	size_t n_unknown;
	bool cut; /* more processes in /proc than are looked at */
};

/* Numbers and processes, before anybody looks at mappings. */
struct xp_gpu_claim {
	uint32_t number, pid;
	bool own; /* the number is the pid itself, in our namespace */
};
/* Answers for one claim: does the process hold a context on that /dev/nvidia<minor>, as far as its files show? */
typedef bool xp_gpu_confirm(void *arg, uint32_t pid, struct xp_opt_u32 minor, struct xp_target_id *ret_id);

/* The choice alone, for any claims (by number): our own numbering first, else the only process that fits. */
void xp_gpu_holders_choose(const struct xp_nvml_list *list, const struct xp_gpu_claim *claims, size_t n_claims, xp_gpu_confirm *confirm,
			   void *arg, struct xp_arena *arena, struct xp_gpu_holders *ret_holders);

/* Everybody in /proc. */
void xp_gpu_holders_find(const struct xp_nvml_list *list, struct xp_arena *arena, struct xp_gpu_holders *ret_holders);
/* Parts of one process only; `unknown` is empty. Walks /proc only when the target has numbers in nested namespaces that NVML lists. */
void xp_gpu_holders_of(const struct xp_nvml_list *list, const struct xp_target *target, struct xp_arena *arena,
		       struct xp_gpu_holders *ret_holders);

#endif
