/* SPDX-License-Identifier: Apache-2.0 */
/* State of GPUs for people. */
#ifndef XP_OUTPUT_REPORT_GPU_HEALTH_H
#define XP_OUTPUT_REPORT_GPU_HEALTH_H

struct xp_gpu_health;
struct xp_text;

/* A line a device; NULL: nothing. */
void xp_report_gpu_health(const struct xp_gpu_health *gpu, struct xp_text *out);

#endif
