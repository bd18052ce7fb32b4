/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the tool's own whose instructions are known, to measure what a probe costs, and how the kernel resumes behind a probe. */
#ifndef XP_ARCH_SCRATCH_H
#define XP_ARCH_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum xp_scratch {
	XP_SCRATCH_EMULATED, /* begins with an instruction that the kernel emulates */
	XP_SCRATCH_STEPPED,  /* begins with one that it single-steps */
	XP_SCRATCH_RETURN,   /* as EMULATED; for a return probe of its own */
	XP_SCRATCH_COUNT
};

/* Takes nothing, returns nothing, does nothing. */
void (*xp_scratch_function(enum xp_scratch which))(void);
/* First instruction at `bytes`: does a probe there cost a second trap? Unknown or cut instructions say yes. */
bool xp_probe_is_stepped(const uint8_t *bytes, size_t n);

#endif
