/* SPDX-License-Identifier: Apache-2.0 */
/* The value of inventory `gpu_activity`: AggregateInventoryResult (contract 10.7), built from the agent's group table. */
#ifndef XP_INVENTORY_GPU_ACTIVITY_H
#define XP_INVENTORY_GPU_ACTIVITY_H

#include "collect/cuda_account.h"
#include "collect/document.h"
#include "event/event.h"
#include "wire/capture.h"

enum xp_gpu_kind { XP_GPU_KERNEL, XP_GPU_MEMCPY, XP_GPU_MEMSET, XP_GPU_KIND_COUNT };
extern const char *const xp_gpu_kind_names[XP_GPU_KIND_COUNT];

struct xp_gpu_duration {
	uint64_t min;
	double mean;
	uint64_t max, total;
};

/* Activities of one kind, name (or direction and memory kinds) and device. */
struct xp_gpu_group {
	int activity; /* enum xp_gpu_kind */
	const char *name;
	struct xp_opt_bool name_complete;
	struct xp_opt_u32 device_id;
	int memcpy_kind;	    /* enum xp_memcpy_kind, -1: not a copy */
	int src_memory, dst_memory; /* enum xp_memory_kind, -1: not a copy */
	const char *start_selector_hint, *end_selector_hint;
	uint64_t count;
	struct xp_gpu_duration duration_ns;
	struct xp_opt_u64 total_bytes;
	struct xp_histogram histogram_log2_ns;
	uint64_t in_graph;
	const char *function;
};

struct xp_gpu_inventory {
	const char *name, *start_selector, *end_selector;
	const struct xp_gpu_group *groups; /* by total falling, count falling, name */
	size_t n_groups;
};

/* observed_activities = grouped_activities + dropped_activities + filtered ones (those are in sources). */
struct xp_gpu_collection {
	uint64_t observed_activities, grouped_activities, dropped_activities, group_capacity, groups, occupied_slots;
	double table_utilization;
	uint64_t groups_listed, window_ns;
	const struct xp_account *sources;
	size_t n_sources;
	const struct xp_cuda_account *cuda;
};

struct xp_gpu_activity {
	struct xp_document head;
	struct xp_gpu_inventory inventory;
	struct xp_gpu_collection collection;
	struct xp_quality quality;
	bool incomplete; /* not written: activities were lost, no rule may use it (triage) */
};
extern const struct xp_record xp_gpu_activity_record; /* "AggregateInventoryResult" */

/* What the agent left behind. Names by id: `name_of` gives NULL for id 0; *ret_complete tells whether the name is whole. */
struct xp_gpu_raw {
	const struct xp_capture_aggregate_5 *groups;
	size_t n_groups, capacity;
	const char *(*name_of)(void *arg, uint32_t id, bool *ret_complete);
	void *arg;
};

/* Fills inventory.groups and the counts of the table, in the arena. */
void xp_gpu_activity_build(const struct xp_gpu_raw *raw, struct xp_arena *arena, struct xp_gpu_activity *value);
/* The groups of some kinds (bits 1 << enum xp_gpu_kind) as a value of their own; the others count as filtered. In the arena. */
struct xp_gpu_activity *xp_gpu_activity_part(const struct xp_gpu_activity *all, unsigned kinds, struct xp_arena *arena);
/* One step towards the size budget. False: nothing is left to cut. `value` is a struct xp_gpu_activity. */
bool xp_gpu_activity_shrink(void *value);
/* Ready selector of one kernel name: exact, or a prefix of at most 127 bytes when it is longer or not complete. In the arena. */
char *xp_gpu_kernel_selector(struct xp_arena *arena, const char *head, const char *name, bool complete);

#endif
