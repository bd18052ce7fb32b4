/* SPDX-License-Identifier: Apache-2.0 */
/* Doubts that follow from how the window went. In: struct xp_window. Out: issues. No state. */
#include "collect/issues.h"

#define HIGH_COST 0.02 /* share of the target's CPU time, contract 13 */
#define LONG_STALL_MS 100.0

void xp_window_issues_end(const struct xp_window *window, struct xp_issues *issues)
{
	if (window->end == XP_END_TIMEOUT)
		xp_issue_add(issues, "timed_out", XP_CAUTION, NULL, "the timeout ended the window before it was full");
	if (window->end == XP_END_SIGNAL)
		xp_issue_add(issues, "cancelled", XP_CAUTION, NULL, "a signal ended the window before it was full");
}

void xp_window_issues_cost(const struct xp_window *window, struct xp_issues *issues)
{
	const struct xp_cost *cost = &window->cost;

	if (cost->limit_reached)
		xp_issue_add(issues, "cost_limit_reached", XP_CAUTION, json_pack("{s:f}", "limit", cost->limit),
			     "the capture cost the target more than %.3g of its CPU time and stopped itself", cost->limit);
	else if (cost->cpu_share.set && cost->cpu_share.v > HIGH_COST)
		xp_issue_add(issues, "high_cost", XP_CAUTION, json_pack("{s:f}", "cpu_share", cost->cpu_share.v),
			     "the capture cost the target about %.1f %% of its CPU time", cost->cpu_share.v * 100);
	if (cost->stall_ms.set && cost->stall_ms.v > LONG_STALL_MS)
		xp_issue_add(issues, "long_stall", XP_CAUTION, json_pack("{s:f}", "stall_ms", cost->stall_ms.v),
			     "the program stood still for %.0f ms because of the capture", cost->stall_ms.v);
}

void xp_window_issues_target(const struct xp_window *window, struct xp_issues *issues)
{
	if (window->exec_seen)
		xp_issue_add(issues, "target_exec", XP_CAUTION, NULL, "the target replaced its program during the window");
	if (window->children)
		xp_issue_add(issues, "target_forked", XP_INFO, json_pack("{s:I}", "children", (json_int_t)window->children),
			     "the target made %u processes that are not covered", window->children);
}

enum xp_status xp_window_status(const struct xp_window *window)
{
	switch (window->end) {
	case XP_END_TIMEOUT:
		return XP_TIMED_OUT;
	case XP_END_SIGNAL:
	case XP_END_COST:
		return XP_CANCELLED;
	case XP_END_FAILED:
	case XP_END_TARGET_GONE:
		return XP_FAILED;
	case XP_END_DURATION:
	case XP_END_SAMPLES:
	case XP_END_CAPACITY:
	case XP_WINDOW_END_COUNT:
		return XP_COMPLETED;
	}
	return XP_FAILED;
}
