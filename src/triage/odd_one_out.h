/* SPDX-License-Identifier: Apache-2.0 */
/* Which of several alike processes differs (contract 14.3): numbers of one window -> the processes that stand out. Pure. */
#ifndef XP_TRIAGE_ODD_ONE_OUT_H
#define XP_TRIAGE_ODD_ONE_OUT_H

#include "triage/input.h"

enum xp_metric {
	XP_METRIC_ON_CPU_SHARE,
	XP_METRIC_RUNQUEUE_SHARE,
	XP_METRIC_THROTTLED_SHARE,
	XP_METRIC_SYSCALL_SHARE,
	XP_METRIC_GPU_BUSY_SHARE,
	XP_METRIC_TOP_KERNEL_MEAN_NS,
	XP_METRIC_CLOCK_LIMITED_SHARE,
	XP_METRIC_COUNT
};
extern const char *const xp_metric_names[XP_METRIC_COUNT];

/* What one process is compared by; unset: not known of it. */
struct xp_metrics {
	uint32_t pid;
	const char *top_kernel; /* which kernel XP_METRIC_TOP_KERNEL_MEAN_NS is about: compared only where all have the same */
	struct xp_opt_f64 v[XP_METRIC_COUNT];
};

struct xp_odd {
	int metric;
	struct xp_opt_u32 pid; /* unset: two processes, and nobody knows which one is odd */
	double value, median, spread;
	struct xp_opt_f64 window_share; /* unset: the metric is no share of the window */
};
extern const struct xp_record xp_odd_record; /* "OddOneOut" */

enum { XP_MAX_ODD = 16 };

/* The metrics of one process, out of what its sources saw. Of threads the busiest counts. */
struct xp_metrics xp_metrics_of(const struct xp_triage_input *input);
/* Metric by metric, in each the farthest from the median first; at most XP_MAX_ODD, in the arena. Processes without a value don't count. */
const struct xp_odd *xp_odd_find(const struct xp_metrics *each, size_t n, struct xp_arena *arena, size_t *ret_n);

#endif
