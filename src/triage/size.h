/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of a proposed spec out of the rate that the window showed (contract 14.2). Pure. */
#ifndef XP_TRIAGE_SIZE_H
#define XP_TRIAGE_SIZE_H

#include "plan/spec.h"

struct xp_spec_size {
	uint64_t samples, timeout_ms, max_events;
	struct xp_opt_u64 duration_ms;
};

/* per_second: observed start events a second; <= 0 or not finite: not known. */
struct xp_spec_size xp_spec_size_of(double per_second);
void xp_spec_size_apply(const struct xp_spec_size *size, struct xp_measurement_spec *spec);

#endif
