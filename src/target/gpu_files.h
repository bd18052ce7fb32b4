/* SPDX-License-Identifier: Apache-2.0 */
/* What shows in /proc that a process uses NVIDIA GPUs, whatever PID namespace anybody counts in: mappings and open device files. */
#ifndef XP_TARGET_GPU_FILES_H
#define XP_TARGET_GPU_FILES_H

#include "target/target.h"

struct xp_gpu_files {
	bool readable;	 /* its open files could be looked at */
	bool libcuda;	 /* maps the driver's CUDA library */
	bool agent;	 /* maps xprobe's agent */
	bool device;	 /* holds a file /dev/nvidia* */
	uint64_t minors; /* bits: /dev/nvidia0 to /dev/nvidia63 that it holds; CUDA opens every GPU that it may use */
};

/* Never fails: what cannot be read shows in `readable`. Mappings are those of the last look at them. */
void xp_gpu_files_read(const struct xp_target *target, struct xp_gpu_files *ret_files);

/* Can the process hold a CUDA context on /dev/nvidia<minor>? unset minor: on any device. */
bool xp_gpu_files_fit(const struct xp_gpu_files *files, struct xp_opt_u32 minor);

#endif
