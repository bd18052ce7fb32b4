/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the result of CPU sampling together. In: sums, named stacks, facts. Out: struct xp_cpu_samples. No state. */
#include "inventory/cpu_build.h"

#include "inventory/inventory.h"

static void make_account(const struct xp_cpu_sum *sum, const struct xp_cpu_facts *facts, struct xp_cpu_collection *c,
			 struct xp_arena *arena)
{
	struct xp_account *account = xp_arena_new_of(arena, struct xp_account);
	struct xp_count *reasons = xp_arena_array(arena, struct xp_count, 3);
	const struct {
		const char *name;
		uint64_t n;
	} rows[] = { { "ring_full", facts->counts.ring_full },
		     { "table_full", sum->beyond + sum->no_room },
		     { "read_fault", sum->damaged } };

	account->source = "perf_sample";
	account->delivered = sum->observed;
	account->filtered = facts->counts.filtered + sum->filtered;
	account->dropped_reasons = reasons;
	for (size_t i = 0; i < XP_LEN(rows); i++) {
		account->dropped += rows[i].n;
		if (rows[i].n)
			reasons[account->n_dropped_reasons++] = (struct xp_count){ rows[i].name, rows[i].n };
	}
	account->emitted = account->delivered + account->dropped + account->filtered;
	c->sources = account;
	c->n_sources = 1;
}

static void count_ends(const struct xp_cpu_sum *sum, const struct xp_named_stacks *named, struct xp_cpu_collection *c)
{
	for (size_t i = 0; i < sum->n_cells; i++) {
		const struct xp_cpu_cell *cell = &sum->cells[i];
		enum xp_unwind_end end = (enum xp_unwind_end)sum->stacks.stacks[cell->stack].end;

		if (end == XP_UNWIND_FAILED)
			c->unwind_failed += cell->samples;
		else if (end == XP_UNWIND_COPY || end == XP_UNWIND_DEPTH || named->stacks[cell->stack].more)
			c->truncated_stacks += cell->samples;
	}
}

static void make_collection(const struct xp_cpu_sum *sum, const struct xp_named_stacks *named, const struct xp_cpu_facts *facts,
			    uint64_t groups, struct xp_arena *arena, struct xp_cpu_samples *out)
{
	const struct xp_inventory_request *request = facts->request;
	struct xp_cpu_collection *c = &out->collection;

	c->observed_samples = sum->observed;
	c->lost_samples = facts->counts.ring_full + sum->no_room + sum->damaged;
	c->sample_capacity = request->max_samples;
	c->group_capacity = request->max_groups;
	c->groups = groups < request->max_groups ? groups : request->max_groups;
	c->table_utilization = (double)c->groups / (double)request->max_groups;
	c->stack_depth = (uint32_t)request->stack_depth;
	c->threads_observed = facts->counts.threads_observed;
	c->threads_attached = facts->counts.threads_attached;
	c->thread_capacity = (uint32_t)request->max_threads;
	c->target_cpu_ns = facts->cpu_ns.v;
	c->expected_samples = (double)facts->cpu_ns.v / 1e9 * (double)request->frequency_hz;
	if (facts->cpu_ns.set && facts->cpu_ns.v)
		c->coverage =
			(struct xp_opt_f64)XP_SOME((double)(sum->observed + sum->filtered + facts->counts.filtered) / c->expected_samples);
	if (!facts->no_kernel)
		c->kernel_samples = (struct xp_opt_u64)XP_SOME(sum->kernel);
	c->torn_python_stacks = sum->torn;
	c->threads_started = facts->counts.threads_started;
	c->threads_ended = facts->counts.threads_ended;
	c->groups_listed = out->inventory.n_stack_groups;
	c->hotspots_listed = out->inventory.n_hotspots;
	c->window_ns = facts->window->end_ns - facts->window->start_ns;
	out->sample_capacity_reached = sum->beyond > 0 || (facts->window->end == XP_END_CAPACITY && sum->observed >= request->max_samples);
	out->group_capacity_reached = groups > request->max_groups;
	count_ends(sum, named, c);
	make_account(sum, facts, c, arena);
}

static void make_symbolization(const struct xp_named_counts *counts, const struct xp_cpu_facts *facts, struct xp_arena *arena,
			       struct xp_symbolization *out)
{
	*out = (struct xp_symbolization){
		.total_frames = counts->total,
		.resolved_native_frames = counts->native,
		.resolved_python_frames = counts->python,
		.resolved_kernel_frames = counts->kernel,
		.resolved_jit_frames = counts->jit,
		.unresolved_frames = counts->unresolved,
		.python_status = facts->python_status,
		.python_version = xp_arena_str(arena, facts->python_version),
		.python_source = facts->python_status == XP_PYTHON_NOT_DETECTED ? -1
				 : counts->python				? XP_PYTHON_FROM_FRAMES
				 : counts->perf_map_python			? XP_PYTHON_FROM_PERF_MAP
										: XP_PYTHON_FROM_NOTHING,
		.deadline_reached = counts->deadline_reached,
	};
}

struct xp_cpu_samples *xp_cpu_samples_build(const struct xp_cpu_sum *sum, const struct xp_named_stacks *named,
					    const struct xp_cpu_facts *facts, struct xp_arena *arena)
{
	struct xp_cpu_samples *out = xp_arena_new_of(arena, struct xp_cpu_samples);
	uint64_t groups;

	struct xp_frame **frames = xp_arena_array(arena, struct xp_frame *, named->n_frames + 1);

	for (; out->n_frames < named->n_frames; out->n_frames++)
		frames[out->n_frames] = named->frames[out->n_frames];
	out->frames = frames;
	out->arena = arena;
	out->inventory.name = facts->request->name;
	out->inventory.frequency_hz = facts->request->frequency_hz;
	out->inventory.duration_ms = facts->request->duration_ms;
	xp_cpu_groups(sum, named, facts->request->max_groups, arena, out, &groups);
	xp_cpu_hotspots(sum, named, facts, arena, out);
	xp_cpu_patterns(sum, facts, arena, out);
	xp_cpu_by_thread(sum, named, arena, out);
	make_symbolization(&named->counts, facts, arena, &out->symbolization);
	make_collection(sum, named, facts, groups, arena, out);
	xp_cpu_notes(facts, named->missing, named->n_missing, arena, out);
	return out;
}

void xp_cpu_samples_join(struct xp_cpu_samples *value, struct xp_off_cpu_value *off_cpu, struct xp_arena *arena)
{
	struct xp_cpu_collection *collection = &value->collection;
	struct xp_account *sources = xp_arena_array(arena, struct xp_account, collection->n_sources + 1);

	for (size_t i = 0; i < collection->n_sources; i++)
		sources[i] = collection->sources[i];
	sources[collection->n_sources++] = off_cpu->account;
	collection->sources = sources;
	value->off_cpu = off_cpu;
	if (off_cpu->threads_lost)
		collection->completeness = XP_CPU_INCOMPLETE;
}

bool xp_cpu_samples_empty(const void *opaque)
{
	const struct xp_cpu_samples *value = opaque;

	return !value->collection.observed_samples && !(value->off_cpu && value->off_cpu->blocks_total);
}
