/* SPDX-License-Identifier: Apache-2.0 */
/* What processes of one family have to do with each other. Pure. */
#ifndef XP_TRIAGE_FAMILY_H
#define XP_TRIAGE_FAMILY_H

#include "triage/finding.h"
#include "triage/input.h"

/* By which means a process hears of another one in that call: "pipe", "wait4"; NULL: by none, or the call is not known. */
const char *xp_wait_means(const char *call);

/*
 * `all`: findings of several processes. One that waits for a child (waits_for_child) takes what is said of its other descendants that are
 * blocked until somebody gives them something to do: as long as it waits, it gives them nothing. They are listed in evidence.absorbed,
 * with their pids, and leave the list.
 */
void xp_family_absorb(struct xp_findings *all, const struct xp_triage_input *const *inputs, size_t n_inputs);
/*
 * Helpers that sleep, such as resource trackers, hold nobody up: what is said of an idle process (fully_blocked) leaves the list while a
 * finding of another process is above 0.20. Not of `root`, which was asked for.
 */
void xp_family_drop_idle(struct xp_findings *all, uint32_t root);
/* A missing right (grant_right) is one for all processes: of those about one source the first stays. */
void xp_family_drop_repeated(struct xp_findings *all);

#endif
