/* SPDX-License-Identifier: Apache-2.0 */
/* Where threads wait, for people: what the report of a triage says of it (a value's own report: inventory/off_cpu.h). */
#ifndef XP_OUTPUT_REPORT_OFF_CPU_H
#define XP_OUTPUT_REPORT_OFF_CPU_H

#include "base/json.h"

struct xp_text;
struct xp_triage_off_cpu;

/* Summary of a triage; one line a stack. NULL: nothing. */
void xp_report_triage_off_cpu(const struct xp_triage_off_cpu *summary, struct xp_text *out);
/* `stack` of a finding's evidence as one line behind `indent` blanks; the summary shows the largest of all. */
void xp_report_blocked_evidence(const json_t *evidence, unsigned indent, struct xp_text *out);

#endif
