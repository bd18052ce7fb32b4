/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the result of CPU sampling to the size budget, one step a call: least told first. In and out: the value. No state. */
#include <string.h>

#include "base/text.h"
#include "inventory/cpu_samples.h"

enum { FIRST_LISTED = 16, FIRST_FRAMES = 24, NAME_BYTES = 256 };

/* Contract 1.1: names of default results. */
static void cut_names(struct xp_cpu_samples *value)
{
	for (size_t i = 0; i < value->n_frames; i++)
		if (value->frames[i]->symbol && strlen(value->frames[i]->symbol) > NAME_BYTES)
			value->frames[i]->symbol = xp_utf8_cut(value->arena, value->frames[i]->symbol, NAME_BYTES, NULL);
}

static size_t longest(const struct xp_cpu_inventory *inventory)
{
	size_t n = 0;

	for (size_t i = 0; i < inventory->n_stack_groups; i++)
		if (inventory->stack_groups[i].n_frames > n)
			n = inventory->stack_groups[i].n_frames;
	return n;
}

static void cut_frames(struct xp_cpu_inventory *inventory, size_t n)
{
	for (size_t i = 0; i < inventory->n_stack_groups; i++)
		if (inventory->stack_groups[i].n_frames > n)
			inventory->stack_groups[i].n_frames = n;
}

static bool first_step(struct xp_cpu_samples *value)
{
	struct xp_cpu_inventory *inventory = &value->inventory;
	bool cut = inventory->n_stack_groups > FIRST_LISTED || inventory->n_hotspots > FIRST_LISTED || longest(inventory) > FIRST_FRAMES;

	if (!cut)
		return false;
	cut_names(value);
	if (inventory->n_stack_groups > FIRST_LISTED)
		inventory->n_stack_groups = FIRST_LISTED;
	if (inventory->n_hotspots > FIRST_LISTED)
		inventory->n_hotspots = FIRST_LISTED;
	cut_frames(inventory, FIRST_FRAMES);
	return true;
}

/* Contract 6.8: what is not listed by name is in the row "*", so that the rows add up to the process. */
static void fold_last(struct xp_cpu_samples *value)
{
	size_t n = value->n_threads;
	struct xp_cpu_pattern *rows = xp_arena_array(value->arena, struct xp_cpu_pattern, n);

	memcpy(rows, value->threads, n * sizeof(*rows));
	rows[n - 2].name_pattern = "*";
	rows[n - 2].threads += rows[n - 1].threads;
	rows[n - 2].samples += rows[n - 1].samples;
	rows[n - 2].cpu_ns += rows[n - 1].cpu_ns;
	value->threads = rows;
	value->n_threads = n - 1;
}

/* The list that is longest against what each round leaves of it. */
static bool next_step(struct xp_cpu_samples *value)
{
	static const struct {
		size_t groups, hotspots, frames, threads;
	} rounds[] = { { 8, 10, 12, 8 }, { 4, 6, 8, 6 }, { 2, 4, 6, 4 }, { 1, 1, 4, 1 }, { 0, 0, 0, 0 } };
	struct xp_cpu_inventory *inventory = &value->inventory;

	for (size_t i = 0; i < XP_LEN(rounds); i++) {
		if (inventory->n_stack_groups > rounds[i].groups)
			inventory->n_stack_groups--;
		else if (longest(inventory) > rounds[i].frames)
			cut_frames(inventory, longest(inventory) - 1);
		else if (inventory->n_hotspots > rounds[i].hotspots)
			inventory->n_hotspots--;
		else if (value->n_threads > 1 && value->n_threads > rounds[i].threads)
			fold_last(value);
		else
			continue;
		return true;
	}
	return false;
}

bool xp_cpu_samples_shrink(void *opaque)
{
	struct xp_cpu_samples *value = opaque;
	struct xp_off_cpu_value *off_cpu = value->off_cpu;
	bool cut = (off_cpu && off_cpu->n_groups > value->inventory.n_stack_groups && xp_off_cpu_shrink(off_cpu)) || first_step(value) ||
		   next_step(value) || (off_cpu && xp_off_cpu_shrink(off_cpu));

	value->collection.groups_listed = value->inventory.n_stack_groups;
	value->collection.hotspots_listed = value->inventory.n_hotspots;
	return cut;
}
