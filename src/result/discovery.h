/* SPDX-License-Identifier: Apache-2.0 */
/* DiscoveryResult of contract 10.13 as a value, and the way to it from NVML's list. */
#ifndef XP_RESULT_DISCOVERY_H
#define XP_RESULT_DISCOVERY_H

#include "base/note.h"
#include "engine/nvml.h"
#include "target/target.h"

struct xp_candidate {
	struct xp_target_id target;
	uint32_t parent_pid;
	const char *executable;
	const char *const *command_line;
	size_t n_command_line;
	const char **gpu_uuids; /* sorted, each once */
	size_t n_gpu_uuids;
	struct xp_opt_u64 gpu_memory_bytes; /* unset: not told for every device */
	const char **mig_uuids;		    /* sorted, each once */
	size_t n_mig_uuids;
	struct xp_opt_u32 nested_pid;
	bool agent_loaded;
	uint32_t thread_count;
};

struct xp_discovery {
	struct xp_target_id root;
	uint64_t limit, total_candidates;
	bool truncated;
	struct xp_candidate *candidates; /* by pid */
	size_t n_candidates;
	const struct xp_warning *warnings;
	size_t n_warnings;
	/* Not written: */
	const char *invocation; /* how this xprobe is called, as a shell takes it */
	struct xp_arena *arena;
	unsigned cuts; /* of the command lines, so far */
};
extern const struct xp_record xp_discovery_record; /* "DiscoveryResult" */

enum { XP_DISCOVERY_BUDGET = 16384 };
/* Shortens the command lines of all candidates, who themselves stay. False when they are as short as they get. */
bool xp_discovery_shrink(void *value);

/*
 * Processes under `root` that hold a compute context by `list`, the lowest `limit` pids. What cannot be tied to a process, or ended
 * meanwhile, becomes a warning. The root's identity is the caller's to check once more.
 */
struct xp_discovery *xp_discovery_build(const struct xp_target *root, const struct xp_nvml_list *list, uint64_t limit,
					struct xp_warnings *warnings, struct xp_arena *arena);

#endif
