/* SPDX-License-Identifier: Apache-2.0 */
/* Quality issues (contract 13) that follow from the window alone. Three calls, because the table's order has others in between. */
#ifndef XP_COLLECT_ISSUES_H
#define XP_COLLECT_ISSUES_H

#include "base/note.h"
#include "collect/collector.h"

/* timed_out, cancelled */
void xp_window_issues_end(const struct xp_window *window, struct xp_issues *issues);
/* cost_limit_reached, high_cost, long_stall */
void xp_window_issues_cost(const struct xp_window *window, struct xp_issues *issues);
/* target_exec, target_forked */
void xp_window_issues_target(const struct xp_window *window, struct xp_issues *issues);
/* completed, timed_out or cancelled, as an inventory tells it. */
enum xp_status xp_window_status(const struct xp_window *window);

#endif
