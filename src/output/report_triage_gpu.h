/* SPDX-License-Identifier: Apache-2.0 */
/* GPU activities of a triage for people. NULL prints nothing. */
#ifndef XP_OUTPUT_REPORT_TRIAGE_GPU_H
#define XP_OUTPUT_REPORT_TRIAGE_GPU_H

struct xp_text;
struct xp_triage_cuda_copies;
struct xp_triage_cuda_kernels;

void xp_report_triage_kernels(const struct xp_triage_cuda_kernels *kernels, struct xp_text *out);
void xp_report_triage_copies(const struct xp_triage_cuda_copies *copies, struct xp_text *out);

#endif
