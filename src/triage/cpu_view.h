/* SPDX-License-Identifier: Apache-2.0 */
/* What rules ask of CPU samples: shares of the window, and the evidence that a function's finding carries. */
#ifndef XP_TRIAGE_CPU_VIEW_H
#define XP_TRIAGE_CPU_VIEW_H

#include "triage/finding.h"
#include "triage/input.h"

/* Part of the window that one thread's samples stand for, and how far it may be off. */
double xp_cpu_share(const struct xp_triage_input *input, uint64_t samples);
struct xp_interval xp_cpu_interval(const struct xp_triage_input *input, uint64_t samples);
/* Samples of the kernel inside that call; tid 0: of all threads. 0 without samples. */
uint64_t xp_cpu_in_call(const struct xp_triage_input *input, uint32_t tid, const char *call);

/* One function as a finding: share by `samples` of its busiest thread `thread`; threads above `least` of the window are explained by it. */
struct xp_cpu_told {
	const char *code;
	const struct xp_hotspot *spot;
	const struct xp_hot_thread *thread;
	bool inclusive; /* count what lies below it, too */
	double least;
};
struct xp_finding *xp_cpu_tell(const struct xp_triage_input *input, struct xp_findings *out, const struct xp_cpu_told *told);

/* The shape of a hot stack: a JSON list of at most `max` frames as text, leaf first, of the largest group that has the function. */
json_t *xp_cpu_stack(const struct xp_triage_input *input, const struct xp_hotspot *spot, size_t max);

#endif
