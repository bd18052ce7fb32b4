/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules about the state of GPUs have in common. */
#ifndef XP_TRIAGE_GPU_DEVICE_H
#define XP_TRIAGE_GPU_DEVICE_H

#include "triage/finding.h"
#include "triage/input.h"

/* A finding about that device. window_share < 0: null. */
struct xp_finding *xp_gpu_finding(struct xp_findings *list, const char *code, const struct xp_gpu_device *device, double window_share);
/* Members of the evidence; unset: null. */
void xp_gpu_tell_u32(struct xp_finding *finding, const char *key, struct xp_opt_u32 value);
void xp_gpu_tell_u64(struct xp_finding *finding, const char *key, struct xp_opt_u64 value);
/* Ends the evidence with uuid and name. next: an action; its command lists that part of the device's state (a word of `nvidia-smi -q -d`,
 * NULL: all of it). */
void xp_next_gpu_state(struct xp_findings *list, struct xp_finding *finding, const char *code, const struct xp_gpu_device *device,
		       const char *part, const char *message);

#endif
