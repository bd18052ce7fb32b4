/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of an NVIDIA installation: what loads, what answers, what lies on disk. Drivers are asked in a child that is cut off. */
#ifndef XP_TARGET_GPU_PARTS_H
#define XP_TARGET_GPU_PARTS_H

#include <stdint.h>

#include "base/arena.h"

/* One question to a driver's library. rc: 0 it answered; > 0 status of the call; else one of enum xp_ask. */
enum xp_ask { XP_ASK_NO_LIBRARY = -1, XP_ASK_NO_SYMBOL = -2, XP_ASK_HUNG = -3, XP_ASK_CRASHED = -4 };
struct xp_driver_answer {
	int rc;
	const char *call; /* static: the call that gave rc */
	uint32_t devices; /* NVML */
	uint32_t version; /* CUDA: 1000 * major + 10 * minor */
};
struct xp_driver_answer xp_ask_nvml(void);
struct xp_driver_answer xp_ask_cuda(void);
/* "NVML status 9", "no libnvidia-ml.so.1", "libcuda.so.1 crashed ...". */
const char *xp_driver_reason(const struct xp_driver_answer *answer, const char *library, struct xp_arena *arena);

/* Version of the loaded kernel module; NULL: none is loaded. */
const char *xp_nvidia_module_version(struct xp_arena *arena);
/* The agent's file by contract 6.9 without --agent; NULL when there is none. *ret_wanted: the first place that was looked at. */
const char *xp_agent_path(struct xp_arena *arena, const char **ret_wanted);
/* libcupti of a CUDA major on disk: toolkit, distribution, Python wheels; NULL when there is none. */
const char *xp_cupti_path(unsigned major, struct xp_arena *arena);

#endif
