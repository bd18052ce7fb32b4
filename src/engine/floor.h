/* SPDX-License-Identifier: Apache-2.0 */
/* What one probe costs at least on this machine, measured now on xprobe itself. */
#ifndef XP_ENGINE_FLOOR_H
#define XP_ENGINE_FLOOR_H

#include "base/field.h"

/* ns a call, pair or sample, over the same without a probe; unset: could not be attached, or lost in the noise. */
struct xp_floors {
	struct xp_opt_u64 uprobe;	  /* first instruction emulated by the kernel: nop, push */
	struct xp_opt_u64 uprobe_stepped; /* first instruction stepped out of line: most others, ret */
	struct xp_opt_u64 uretprobe;
	struct xp_opt_u64 uretprobe_stepped;
	struct xp_opt_u64 syscall; /* entry and exit of one call */
	struct xp_opt_u64 sample;
};

/*
 * Takes some 30 ms where uprobe_multi links exist, half a second where each probe is a perf event. A kind that is refused stays unset;
 * the call fails only when no program can be loaded at all.
 */
int xp_floor_measure(struct xp_floors *ret_floors, struct xp_err *reterr);
/* The sample alone: each other kind would wait for the kernel to let go of its probe. */
int xp_floor_measure_sample(struct xp_opt_u64 *ret_sample, struct xp_err *reterr);

#endif
