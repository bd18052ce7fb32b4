/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregate mode: activities summed by kind, name, direction, memory and device. In: one activity. Out: the group table in the shared file.
 */
#include "agent/work.h"

#include <string.h>
#include <sys/mman.h>

enum { BUCKETS = 40 };

static struct xp_capture_aggregate_5 *groups(void)
{
	return (struct xp_capture_aggregate_5 *)(xp_agent.memory + XP_AGENT_DATA_OFFSET);
}

/* The index is at most half full, so a search ends. */
int xp_agent_groups_new(uint32_t capacity)
{
	uint32_t slots = 2;

	if (xp_agent.group_index)
		munmap(xp_agent.group_index, xp_agent.group_index_bytes);
	while (slots < 2 * capacity)
		slots *= 2;
	xp_agent.group_index_bytes = slots * sizeof(uint32_t);
	xp_agent.group_index = xp_agent_map(xp_agent.group_index_bytes);
	xp_agent.group_mask = slots - 1;
	xp_agent.groups = 0;
	xp_agent.control->groups = 0;
	return xp_agent.group_index ? XP_AGENT_OK : xp_agent_say(XP_AGENT_NO_MEMORY, "mmap", 0, "group index");
}

static struct xp_capture_aggregate_5 key_of(const struct activity *activity)
{
	struct xp_capture_aggregate_5 key = { .kind = activity->kind, .device = activity->device };
	uint32_t filters;
	bool complete;

	if (activity->kind == XP_CAPTURE_KERNEL_START && activity->name)
		key.name = xp_agent_name(activity->name, &filters, &complete);
	if (activity->kind == XP_CAPTURE_MEMCPY_START) {
		key.copy_kind = activity->copy_kind;
		key.src_memory = activity->src_memory;
		key.dst_memory = activity->dst_memory;
	}
	return key;
}

static bool same(const struct xp_capture_aggregate_5 *a, const struct xp_capture_aggregate_5 *b)
{
	return a->kind == b->kind && a->device == b->device && a->copy_kind == b->copy_kind && a->src_memory == b->src_memory &&
	       a->dst_memory == b->dst_memory && a->name == b->name;
}

static uint32_t hash(const struct xp_capture_aggregate_5 *key)
{
	uint64_t h = (uint64_t)key->name << 32 | key->device;

	h ^= (uint64_t)key->kind << 24 | (uint64_t)key->copy_kind << 16 | (uint64_t)key->src_memory << 8 | key->dst_memory;
	h *= 0x9e3779b97f4a7c15ull;
	return (uint32_t)(h >> 32);
}

static struct xp_capture_aggregate_5 *find(const struct activity *activity)
{
	struct xp_capture_aggregate_5 key = key_of(activity);
	uint32_t i = hash(&key) & xp_agent.group_mask;

	for (; xp_agent.group_index[i]; i = (i + 1) & xp_agent.group_mask)
		if (same(&groups()[xp_agent.group_index[i] - 1], &key))
			return &groups()[xp_agent.group_index[i] - 1];
	if (xp_agent.groups >= xp_agent.request.capacity)
		return NULL;
	key.min_ns = UINT64_MAX;
	groups()[xp_agent.groups] = key;
	xp_agent.group_index[i] = ++xp_agent.groups;
	xp_agent.control->groups = xp_agent.groups;
	return &groups()[xp_agent.groups - 1];
}

void xp_agent_group(const struct activity *activity)
{
	struct xp_capture_aggregate_5 *group = find(activity);
	uint64_t ns = activity->end_ns - activity->start_ns;
	unsigned bucket = ns ? 63 - (unsigned)__builtin_clzll(ns) : 0;

	if (!group) {
		xp_agent.control->counters.activities_ungrouped += activity->copies;
		return;
	}
	group->count += activity->copies;
	group->total_ns += ns;
	group->min_ns = ns < group->min_ns ? ns : group->min_ns;
	group->max_ns = ns > group->max_ns ? ns : group->max_ns;
	group->bytes += activity->bytes;
	group->in_graph += activity->flags & XP_CAPTURE_IN_GRAPH ? activity->copies : 0;
	group->buckets[bucket < BUCKETS ? bucket : BUCKETS - 1] += (uint32_t)activity->copies;
	xp_agent.control->counters.activities_grouped += activity->copies;
}
