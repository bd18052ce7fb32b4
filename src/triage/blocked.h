/* SPDX-License-Identifier: Apache-2.0 */
/* What rules ask of blocked stacks, and how they show in evidence. */
#ifndef XP_TRIAGE_BLOCKED_H
#define XP_TRIAGE_BLOCKED_H

#include "triage/input.h"

/* Blocked time of one thread in one call. */
struct xp_blocked {
	uint64_t total_ns;
	uint64_t lock_ns;			/* of it: waits for Python's global lock */
	uint64_t gpu_ns, copy_ns;		/* of it: under CUDA calls that wait for a device, that copy */
	const struct xp_off_cpu_group *longest; /* stack with most of the rest; NULL: none */
};
/* Zero when the thread never blocked there. `off_cpu` may be NULL. */
struct xp_blocked xp_blocked_in(const struct xp_off_cpu_value *off_cpu, uint32_t tid, const char *syscall_name);

/* In the lock function of a mutex or a reader-writer lock, as opposed to a wait for something to do. NULL: false. */
bool xp_blocked_at_lock(const struct xp_off_cpu_group *group);

enum { XP_EVIDENCE_FRAMES = 6 };
/* At most XP_EVIDENCE_FRAMES texts, leaf first; "" frames never. Returned in the arena, *ret_n of them. */
const char *const *xp_blocked_stack(const struct xp_off_cpu_group *group, struct xp_arena *arena, size_t *ret_n);
/* The same as a list. Returns owned. */
json_t *xp_blocked_stack_json(const struct xp_off_cpu_group *group, struct xp_arena *arena);
/* {function, source_path, line, share} of the innermost Python frame outside the standard library, else within; null without one. share: of
 * `of_ns`. Returns owned. */
json_t *xp_blocked_python_line(const struct xp_off_cpu_group *group, uint64_t of_ns);
/* One group as evidence. Returns owned. */
json_t *xp_blocked_json(const struct xp_off_cpu_group *group, struct xp_arena *arena);

#endif
