/* SPDX-License-Identifier: Apache-2.0 */
/* A line a process of a triage of several, and which of them differs. */
#ifndef XP_OUTPUT_REPORT_TRIAGE_PROCESSES_H
#define XP_OUTPUT_REPORT_TRIAGE_PROCESSES_H

#include <stdbool.h>

struct xp_text;
struct xp_triage;

/* Nothing for one process. */
void xp_report_triage_processes(const struct xp_triage *triage, struct xp_text *out, bool color);

#endif
