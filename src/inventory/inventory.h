/* SPDX-License-Identifier: Apache-2.0 */
/* One windowed summary a file, one line in inventory_list.def: a collector that ends in a plain value. */
#ifndef XP_INVENTORY_INVENTORY_H
#define XP_INVENTORY_INVENTORY_H

#include "base/note.h"
#include "collect/collector.h"

struct xp_agent_options;
struct xp_cuda_window;
struct xp_engine;
struct xp_peer_targets;
struct xp_plan;
struct xp_regex;

/* What the command line or spec asked for; 0 or NULL = the inventory's default. */
struct xp_inventory_request {
	const char *name; /* --name */
	uint64_t duration_ms, timeout_ms;
	uint64_t max_groups, max_inflight, max_samples, max_threads, frequency_hz, stack_depth, min_block_us;
	bool off_cpu;
	const char *threads_pattern; /* --threads name~REGEX, text of the regex; NULL = all */
	const struct xp_regex *threads;
	bool for_triage; /* sizes its own tables (contract 6.6) */
	/* Several processes in one window: engines are shared. NULL: one process. */
	struct xp_peer_targets *peers;
	bool no_tree; /* threads: descendants are looked at by another process's inventory */
	bool full_evidence;
	/* gpu_activity: one pair of CUDA endpoints, and how to use the agent that was brought; NULL for others. */
	const struct xp_plan *cuda_plan;
	const struct xp_agent_options *agent;
	/* cuda_kernels, cuda_copies: what both share; NULL for others. */
	struct xp_cuda_window *cuda;
};

struct xp_inventory_kind {
	const char *name;     /* "syscalls": also the name of the triage source and of the artifact NAME.json (with '-') */
	const char *artifact; /* stem of its file, NULL: the name */
	const char *summary;
	const char *flag;		/* mode switch of measure, NULL when only triage uses it */
	const struct xp_engine *engine; /* whose rights it needs; NULL: none */
	const struct xp_collector_ops *ops;
	const struct xp_record *record; /* of the value; what the artifact holds */
	/* Checks the request against the target without touching it. *ret_state is owned, released with `free`. */
	int (*open)(const struct xp_inventory_request *request, struct xp_target *target, struct xp_arena *arena, void **ret_state,
		    struct xp_err *reterr);
	/* After disarm: the plain value (struct of `record`), in the arena. Nothing in it points into the collector. */
	int (*finish)(void *state, const struct xp_window *window, struct xp_arena *arena, void **ret_value, struct xp_err *reterr);
	void (*free)(void *state);
	/* One step towards the size budget: shortens a list of the value. False: nothing is left to cut. NULL: no lists. */
	bool (*shrink)(void *value);
	/* The value for people, at most 100 columns. NULL: JSON is shown instead. */
	void (*report)(const void *value, struct xp_text *out, bool color);
	/* Nothing was captured, so no artifact is left (contract 12). NULL: never so. */
	bool (*empty)(const void *value);
	/* What it did to the target beside its probes: stall_ms, residual_ns_per_launch. NULL: nothing. */
	void (*effects)(void *state, struct xp_cost *cost);
};

/* Every inventory, sorted by name. */
const struct xp_inventory_kind *const *xp_inventories(size_t *ret_n);

#endif
