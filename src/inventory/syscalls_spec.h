/* SPDX-License-Identifier: Apache-2.0 */
/* What a system call inventory is asked with, and the answer whether it can run (contract 10.2, 10.9). */
#ifndef XP_INVENTORY_SYSCALLS_SPEC_H
#define XP_INVENTORY_SYSCALLS_SPEC_H

#include "base/note.h"
#include "target/target.h"

struct xp_feature;
struct xp_plan_issue;

/* Contract 10.2. */
struct xp_syscalls_spec {
	const char *name;
	struct xp_target_id target;
	uint64_t duration_ms, timeout_ms, max_groups, max_inflight;
	const char *threads; /* NULL: absent */
};
extern const struct xp_record xp_syscalls_spec_record; /* "SyscallAggregateSpec", closed */

struct xp_syscalls_needs {
	bool target_mutation; /* always false */
};
struct xp_syscalls_ebpf {
	int status; /* enum xp_feature_status */
	const char *detail;
};
struct xp_syscalls_validation {
	bool valid;
	struct xp_target_id target;
	struct xp_syscalls_needs requirements;
	struct xp_syscalls_ebpf ebpf;
	const struct xp_plan_issue *issues;
	size_t n_issues;
	const struct xp_feature *features; /* those that are missing */
	size_t n_features;
	const struct xp_warning *warnings;
	size_t n_warnings;
};
extern const struct xp_record xp_syscalls_validation_record; /* "SyscallAggregateValidationResult" */

#endif
