/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that actions propose. Only commands that this build has are proposed. */
#ifndef XP_TRIAGE_COMMAND_H
#define XP_TRIAGE_COMMAND_H

#include "triage/finding.h"
#include "triage/input.h"

/* Action collect_cpu_samples for one thread of the target (tid 0: the process). */
void xp_next_cpu_samples(const struct xp_triage_input *input, struct xp_findings *list, struct xp_finding *finding, uint32_t tid);
/* The spec of that syscall; of one that never returns as itself, action collect_cpu_samples. */
void xp_next_call(const struct xp_triage_input *input, struct xp_findings *list, struct xp_finding *finding, const char *call,
		  double per_second);
/* Action collect_off_cpu; tid: a thread that is worth a look in /proc, 0 when none is. */
void xp_next_off_cpu(const struct xp_triage_input *input, struct xp_findings *list, struct xp_finding *finding, uint32_t tid);
/* Action triage_tree. */
void xp_next_triage_tree(const struct xp_triage_input *input, struct xp_findings *list, struct xp_finding *finding);

#endif
