/* SPDX-License-Identifier: Apache-2.0 */
/* Cells -> stack groups. In: counts by (thread, stack), named stacks. Out: groups in the arena. No state. */
#include <stdlib.h>
#include <string.h>

#include "inventory/cpu_build.h"
#include "inventory/interval.h"

/* One group while it grows: frame numbers of one stack, and a name pattern by number. */
struct building {
	const struct xp_named_stack *stack;
	const char *name_pattern;
	uint64_t samples;
};

struct group_query {
	const struct xp_named_stacks *named;
	const struct building *have;
	const struct building *want;
};

static bool same_group(uint64_t value, const void *arg)
{
	const struct group_query *query = arg;
	const struct building *a = &query->have[value], *b = query->want;

	return a->stack->n == b->stack->n && !strcmp(a->name_pattern, b->name_pattern) &&
	       !memcmp(query->named->words + a->stack->first, query->named->words + b->stack->first, a->stack->n * sizeof(uint32_t));
}

static size_t sum_groups(const struct xp_cpu_sum *sum, const struct xp_named_stacks *named, struct building *groups)
{
	struct xp_map group_of = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < sum->n_cells; i++) {
		const struct xp_cpu_cell *cell = &sum->cells[i];
		struct building want = { &named->stacks[cell->stack], sum->threads[cell->thread].name_pattern, 0 };
		struct group_query query = { named, groups, &want };
		uint64_t key = xp_hash_bytes(named->words + want.stack->first, want.stack->n * sizeof(uint32_t),
					     xp_hash_bytes(want.name_pattern, strlen(want.name_pattern), 0));
		bool new;
		uint64_t *at = xp_map_at(&group_of, key, same_group, &query, &new);

		if (new) {
			groups[n] = want;
			*at = n++;
		}
		groups[*at].samples += cell->samples;
	}
	xp_map_done(&group_of);
	return n;
}

static int compare_text(const char *a, const char *b)
{
	return a == b ? 0 : !a ? -1 : !b ? 1 : strcmp(a, b);
}

static int compare_frames(const struct xp_frame *a, const struct xp_frame *b)
{
	int order = compare_text(a->symbol, b->symbol);

	if (!order)
		order = compare_text(a->module_path ? a->module_path : a->source_path, b->module_path ? b->module_path : b->source_path);
	if (!order && a->line.v != b->line.v)
		order = a->line.v < b->line.v ? -1 : 1;
	return order || a->address == b->address ? order : a->address < b->address ? -1 : 1;
}

static int by_samples(const void *a, const void *b, void *arg)
{
	const struct building *x = a, *y = b;
	const struct xp_named_stacks *named = arg;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	for (uint32_t i = 0; i < x->stack->n && i < y->stack->n; i++) {
		uint32_t p = named->words[x->stack->first + i], q = named->words[y->stack->first + i];
		int order = p == q ? 0 : compare_frames(named->frames[p], named->frames[q]);

		if (order)
			return order;
	}
	if (x->stack->n != y->stack->n)
		return x->stack->n < y->stack->n ? -1 : 1;
	return strcmp(x->name_pattern, y->name_pattern);
}

void xp_cpu_groups(const struct xp_cpu_sum *sum, const struct xp_named_stacks *named, uint64_t max_groups, struct xp_arena *arena,
		   struct xp_cpu_samples *out, uint64_t *ret_total)
{
	xp_auto(xp_arena_free) struct xp_arena *work = xp_arena_new();
	struct building *building = xp_arena_array(work, struct building, sum->n_cells + 1);
	size_t total = sum_groups(sum, named, building), kept = total < max_groups ? total : max_groups;
	struct xp_stack_group *groups = xp_arena_array(arena, struct xp_stack_group, kept + 1);

	if (total)
		qsort_r(building, total, sizeof(*building), by_samples, (void *)named);
	for (size_t i = 0; i < kept; i++) {
		const struct building *from = &building[i];

		groups[i] = (struct xp_stack_group){
			.frames = xp_named_stack_frames(named, from->stack, arena),
			.n_frames = from->stack->n,
			.frames_total = from->stack->n,
			.samples = from->samples,
			.proportion = (double)from->samples / (double)sum->observed,
			.thread_name_pattern = xp_arena_str(arena, from->name_pattern),
			.interval_95 = xp_interval_95(from->samples, sum->observed),
			.collector = from->stack->collector,
		};
		out->collection.grouped_samples += from->samples;
	}
	out->inventory.stack_groups = groups;
	out->inventory.n_stack_groups = kept;
	*ret_total = total;
}
