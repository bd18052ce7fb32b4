/* SPDX-License-Identifier: Apache-2.0 */
/* What a host thread does while a device has nothing to run. */
#ifndef XP_TRIAGE_HOST_WORK_H
#define XP_TRIAGE_HOST_WORK_H

#include "triage/finding.h"
#include "triage/input.h"

/* Of the thread that gives the devices their work; time under CUDA calls aside. */
struct xp_host_work {
	const struct xp_thread_row *thread; /* NULL: no thread is known, or it does next to nothing but CUDA calls */
	bool launches;			    /* it was seen under CUDA calls; else it is the main thread */
	uint64_t cpu_ns, blocked_ns;
	const char *call;		 /* blocked: in that call; NULL: running, or blocked outside of calls */
	const struct xp_frame *function; /* where it runs or waits, of the program's own code; NULL: not known */
};
struct xp_host_work xp_host_work_of(const struct xp_triage_input *input);

/* Ends the message with it and has it as evidence.host_work. Nothing without a thread. */
void xp_host_work_say(struct xp_findings *out, struct xp_finding *finding, const struct xp_host_work *work, uint64_t window_ns);

#endif
