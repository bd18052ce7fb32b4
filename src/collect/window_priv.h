/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by window.c (arming, closing, disarming) and window_wait.c (the loop between open and close). */
#ifndef XP_COLLECT_WINDOW_PRIV_H
#define XP_COLLECT_WINDOW_PRIV_H

#include <stdlib.h>

#include "collect/targets.h"

#define XP_NS_PER_MS UINT64_C(1000000)
#define XP_NS_PER_S UINT64_C(1000000000)

struct xp_window_run {
	struct xp_collector *collectors;
	size_t n;
	struct xp_window_target *targets;
	size_t n_targets;
	const struct xp_window_bounds *bounds;
	struct xp_window *window;
	bool *armed;	      /* a collector: its arm was tried and it still has to be disarmed */
	size_t n_armed;	      /* collectors from here on were never armed */
	bool interrupted;     /* a signal came before the window opened */
	uint64_t deadline_ns; /* arm + timeout_ms */
};

uint64_t xp_window_now(void);
/* Runs one step of one collector; an optional one that fails is taken out, and the step counts as done. */
int xp_window_step(struct xp_collector *collector, int (*op)(void *state, struct xp_err *reterr), struct xp_err *reterr);
/* What the capture has cost one target so far. */
void xp_window_sum_cost(const struct xp_window_run *run, size_t of, uint64_t *ret_ns, uint64_t *ret_events);
/* Refreshes cpu_last_ns; false when the target's CPU time is not known at all. */
bool xp_window_read_cpu(struct xp_window_target *target);
/* True when every target is gone. */
bool xp_window_all_gone(const struct xp_window_run *run);
/* window_cost.c: sums and limits. True, and told in the costs, when the limit is reached. */
bool xp_window_too_dear(struct xp_window_run *run, uint64_t now_ns);
/* Behind the window: the costs of each target and of all. */
void xp_window_fill_cost(struct xp_window_run *run);
/* Waits until the window has to end and sets window->end; an error only for a collector that is not optional. */
int xp_window_wait(struct xp_window_run *run, struct xp_err *reterr);

#endif
