/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of threads that are blocked when the window ends, read from outside: such a thread does not run, so its stack holds still. */
#ifndef XP_INVENTORY_OFF_CPU_WAIT_H
#define XP_INVENTORY_OFF_CPU_WAIT_H

#include "inventory/off_cpu_sum.h"
#include "target/target.h"

struct xp_off_cpu_record;

/* Zero-initialised with the borrowed members set; release with xp_off_cpu_wait_done. */
struct xp_off_cpu_wait {
	struct xp_off_cpu_sum *sum;
	const struct xp_target *target;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; behind it no stack is read any more */
	struct xp_off_cpu_record *record;
};

int xp_off_cpu_wait_init(struct xp_off_cpu_wait *wait, struct xp_err *reterr);
void xp_off_cpu_wait_done(struct xp_off_cpu_wait *wait);
/*
 * One living thread, soon after the window's end: hands its stack to the sum when it is blocked long enough. A stack counts only when the
 * thread has not been put on a CPU since its block began. `arg` is the wait; a sink's `thread`. Never fails: what is not read is counted.
 */
int xp_off_cpu_wait_thread(void *arg, const struct xp_sched_thread *thread, struct xp_err *reterr);

#endif
