/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of a triage's report: one a source, empty where the source is unavailable. */
#ifndef XP_OUTPUT_REPORT_TRIAGE_SOURCES_H
#define XP_OUTPUT_REPORT_TRIAGE_SOURCES_H

#include <stdint.h>

struct xp_text;
struct xp_triage_summary;

void xp_report_triage_threads(const struct xp_triage_summary *summary, uint64_t window_ns, struct xp_text *out);
void xp_report_triage_cgroup(const struct xp_triage_summary *summary, struct xp_text *out);
void xp_report_triage_functions(const struct xp_triage_summary *summary, struct xp_text *out);
void xp_report_triage_syscalls(const struct xp_triage_summary *summary, struct xp_text *out);

#endif
