/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's group table to readable groups. In: aggregate records and names. Out: groups, ranked, with ready selectors. No state. */
#include "inventory/gpu_activity.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "select/match.h"

enum { SELECTOR_NAME_MAX = 127 };

/* CUPTI's numbers of contract 10.16; anything else is unknown. */
static int copy_kind(uint32_t number)
{
	switch (number) {
	case 1:
		return XP_COPY_HTOD;
	case 2:
		return XP_COPY_DTOH;
	case 8:
		return XP_COPY_DTOD;
	case 9:
		return XP_COPY_HTOH;
	case 10:
		return XP_COPY_PTOP;
	default:
		return XP_COPY_UNKNOWN;
	}
}

static int memory_kind(uint32_t number)
{
	return number < XP_MEMORY_KIND_COUNT ? (int)number : XP_MEMORY_UNKNOWN;
}

char *xp_gpu_kernel_selector(struct xp_arena *arena, const char *head, const char *name, bool complete)
{
	xp_auto_builder out = { 0 };
	size_t used = 0;

	xp_text_fmt(&out, "%s:name~^", head);
	for (const char *p = name; *p;) {
		size_t n = xp_utf8_len(p, p + strlen(p));
		bool escape = ispunct((unsigned char)*p) && *p != '_';

		n = n ? n : 1;
		if (used + n > SELECTOR_NAME_MAX) {
			complete = false;
			break;
		}
		if (escape)
			xp_text_char(&out, '\\');
		xp_text_add(&out, p, n);
		used += n;
		p += n;
	}
	if (complete)
		xp_text_char(&out, '$');
	return xp_arena_dup(arena, out.data, out.len);
}

static void fill_kernel(const struct xp_gpu_raw *raw, uint32_t id, struct xp_arena *arena, struct xp_gpu_group *group)
{
	bool complete = false;
	const char *name = raw->name_of(raw->arg, id, &complete);

	name = name ? name : "";
	group->activity = XP_GPU_KERNEL;
	group->name = xp_utf8_clean(arena, name, strlen(name));
	group->name_complete = (struct xp_opt_bool)XP_SOME(complete);
	group->start_selector_hint = xp_gpu_kernel_selector(arena, "cuda:kernel_start", group->name, complete);
	group->end_selector_hint = xp_gpu_kernel_selector(arena, "cuda:kernel_end", group->name, complete);
	group->function = xp_kernel_function(arena, group->name);
}

static void fill_copy(const struct xp_capture_aggregate_5 *from, struct xp_arena *arena, struct xp_gpu_group *group)
{
	group->activity = XP_GPU_MEMCPY;
	group->memcpy_kind = copy_kind(from->copy_kind);
	group->src_memory = memory_kind(from->src_memory);
	group->dst_memory = memory_kind(from->dst_memory);
	group->total_bytes = (struct xp_opt_u64)XP_SOME(from->bytes);
	if (group->memcpy_kind == XP_COPY_UNKNOWN) {
		group->start_selector_hint = "cuda:memcpy_start";
		group->end_selector_hint = "cuda:memcpy_end";
		return;
	}
	group->start_selector_hint = xp_arena_fmt(arena, "cuda:memcpy_start:kind=%s", xp_memcpy_kind_names[group->memcpy_kind]);
	group->end_selector_hint = xp_arena_fmt(arena, "cuda:memcpy_end:kind=%s", xp_memcpy_kind_names[group->memcpy_kind]);
}

static void fill_group(const struct xp_gpu_raw *raw, const struct xp_capture_aggregate_5 *from, struct xp_arena *arena,
		       struct xp_gpu_group *group)
{
	*group = (struct xp_gpu_group){
		.memcpy_kind = -1,
		.src_memory = -1,
		.dst_memory = -1,
		.count = from->count,
		.duration_ns = { from->min_ns, (double)from->total_ns / (double)from->count, from->max_ns, from->total_ns },
		.in_graph = from->in_graph,
	};
	if (from->device != XP_CAPTURE_UNKNOWN_ID)
		group->device_id = (struct xp_opt_u32)XP_SOME(from->device);
	for (size_t i = 0; i < XP_LEN(from->buckets); i++)
		group->histogram_log2_ns.bucket[i] = from->buckets[i];
	if (from->kind == XP_CAPTURE_KERNEL_START) {
		fill_kernel(raw, from->name, arena, group);
	} else if (from->kind == XP_CAPTURE_MEMCPY_START) {
		fill_copy(from, arena, group);
	} else {
		group->activity = XP_GPU_MEMSET;
		group->total_bytes = (struct xp_opt_u64)XP_SOME(from->bytes);
		group->start_selector_hint = "cuda:memset_start";
		group->end_selector_hint = "cuda:memset_end";
	}
}

static int by_total(const void *left, const void *right)
{
	const struct xp_gpu_group *a = left, *b = right;

	if (a->duration_ns.total != b->duration_ns.total)
		return a->duration_ns.total > b->duration_ns.total ? -1 : 1;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return strcmp(a->name ? a->name : a->start_selector_hint, b->name ? b->name : b->start_selector_hint);
}

void xp_gpu_activity_build(const struct xp_gpu_raw *raw, struct xp_arena *arena, struct xp_gpu_activity *value)
{
	struct xp_gpu_group *groups = xp_arena_array(arena, struct xp_gpu_group, raw->n_groups + 1);
	size_t n = 0;

	value->collection.grouped_activities = 0;
	for (size_t i = 0; i < raw->n_groups; i++) {
		if (!raw->groups[i].count)
			continue;
		fill_group(raw, &raw->groups[i], arena, &groups[n++]);
		value->collection.grouped_activities += raw->groups[i].count;
	}
	qsort(groups, n, sizeof(*groups), by_total);
	value->inventory.groups = groups;
	value->inventory.n_groups = n;
	value->collection.groups = value->collection.occupied_slots = value->collection.groups_listed = n;
	value->collection.group_capacity = raw->capacity;
	value->collection.table_utilization = raw->capacity ? (double)n / (double)raw->capacity : 0;
}

struct xp_gpu_activity *xp_gpu_activity_part(const struct xp_gpu_activity *all, unsigned kinds, struct xp_arena *arena)
{
	struct xp_gpu_activity *part = xp_arena_new_of(arena, struct xp_gpu_activity);
	struct xp_gpu_group *groups = xp_arena_array(arena, struct xp_gpu_group, all->inventory.n_groups + 1);
	struct xp_account *account = xp_arena_new_of(arena, struct xp_account);
	struct xp_gpu_collection *collection = &part->collection;
	size_t n = 0;

	*part = *all;
	*account = all->collection.sources[0];
	account->delivered = 0;
	for (size_t i = 0; i < all->inventory.n_groups; i++) {
		if (!(kinds & 1u << all->inventory.groups[i].activity))
			continue;
		groups[n++] = all->inventory.groups[i];
		account->delivered += groups[n - 1].count;
	}
	account->filtered = account->emitted - account->delivered - account->dropped;
	collection->sources = account;
	collection->grouped_activities = account->delivered;
	collection->observed_activities = account->delivered + collection->dropped_activities;
	part->inventory.groups = groups;
	part->inventory.n_groups = collection->groups = collection->groups_listed = n;
	part->inventory.start_selector = kinds & 1u << XP_GPU_KERNEL ? "cuda:kernel_start" : "cuda:memcpy_start";
	part->inventory.end_selector = kinds & 1u << XP_GPU_KERNEL ? "cuda:kernel_end" : "cuda:memcpy_end";
	return part;
}

bool xp_gpu_activity_shrink(void *value)
{
	struct xp_gpu_activity *activity = value;

	if (activity->inventory.n_groups <= 1)
		return false;
	activity->inventory.n_groups -= activity->inventory.n_groups > 16 ? activity->inventory.n_groups / 8 : 1;
	activity->collection.groups_listed = activity->inventory.n_groups;
	return true;
}
