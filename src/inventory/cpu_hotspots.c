/* SPDX-License-Identifier: Apache-2.0 */
/* Cells -> functions. In: counts by (thread, stack), named stacks. Out: hotspots in the arena. No state. */
#include <stdlib.h>
#include <string.h>

#include "inventory/cpu_build.h"
#include "inventory/interval.h"
#include "inventory/inventory.h"

/* Everything that is counted per function, and the tables that lead from a pair of numbers to a count. */
struct counting {
	const struct xp_cpu_sum *sum;
	const struct xp_named_stacks *named;
	struct xp_hotspot *spots; /* by number of function */
	uint32_t *best_frame;	  /* function -> frame to show */
	uint64_t *frame_samples;  /* frame -> samples that have it; Python shows its busiest line */
	uint32_t *seen_in;	  /* function -> last stack (+1) that was counted in it: recursion counts once */
	struct xp_map in_thread;  /* function << 32 | tid -> index into `threads` */
	struct xp_map lines;	  /* function << 32 | Python frame -> samples */
	struct in_thread {
		uint32_t function, tid;
		const char *name;
		uint64_t inclusive, exclusive, in_copy, in_launch, in_kernel;
	} * threads;
	size_t n_threads, cap_threads;
};

static struct in_thread *thread_counts(struct counting *c, uint32_t function, const struct xp_cpu_sum_thread *thread)
{
	bool new;
	uint64_t *at = xp_map_at(&c->in_thread, (uint64_t)function << 32 | thread->tid, NULL, NULL, &new);

	if (!new)
		return &c->threads[*at];
	if (c->n_threads == c->cap_threads) {
		size_t cap = c->cap_threads ? c->cap_threads * 2 : 1024;
		struct in_thread *grown = realloc(c->threads, cap * sizeof(*grown));

		if (!grown)
			abort(); /* as the arena does */
		c->threads = grown;
		c->cap_threads = cap;
	}
	*at = c->n_threads++;
	c->threads[*at] = (struct in_thread){ .function = function, .tid = thread->tid, .name = thread->name };
	return &c->threads[*at];
}

/* The innermost Python frame of a stack whose leaf is native. */
static void count_line(struct counting *c, const uint32_t *words, uint32_t n, uint32_t leaf, uint64_t samples)
{
	bool new;

	for (uint32_t i = 0; i < n; i++) {
		if (c->named->frames[words[i]]->kind != XP_FRAME_PYTHON)
			continue;
		*xp_map_at(&c->lines, (uint64_t)leaf << 32 | words[i], NULL, NULL, &new) += samples;
		return;
	}
}

/* Collections and waits for a GPU are findings of their own. */
static bool told_elsewhere(const struct xp_named_stack *stack)
{
	return stack->collector || xp_named_stack_waits(stack);
}

static void count_cell(struct counting *c, const struct xp_cpu_cell *cell, uint32_t round)
{
	const struct xp_named_stack *stack = &c->named->stacks[cell->stack];
	const struct xp_cpu_sum_thread *thread = &c->sum->threads[cell->thread];
	const uint32_t *words = c->named->words + stack->first;

	for (uint32_t i = 0; i < stack->n; i++) {
		uint32_t function = c->named->function_of[words[i]];

		c->frame_samples[words[i]] += cell->samples;
		if (c->seen_in[function] == round)
			continue;
		c->seen_in[function] = round;
		c->spots[function].inclusive_samples += cell->samples;
		c->spots[function].depth += cell->samples * (stack->n - i);
		struct in_thread *counts = thread_counts(c, function, thread);
		if (!told_elsewhere(stack))
			counts->inclusive += cell->samples;
		counts->in_kernel += !told_elsewhere(stack) && c->sum->stacks.stacks[cell->stack].n_kernel ? cell->samples : 0;
		if (i)
			continue;
		c->spots[function].exclusive_samples += cell->samples;
		if (!told_elsewhere(stack))
			counts->exclusive += cell->samples;
		counts->in_copy += stack->cuda_call && stack->cuda_call->kind == XP_CUDA_COPY ? cell->samples : 0;
		counts->in_launch += stack->cuda_call && stack->cuda_call->kind == XP_CUDA_LAUNCH ? cell->samples : 0;
		if (c->named->frames[words[0]]->kind != XP_FRAME_PYTHON)
			count_line(c, words, stack->n, function, cell->samples);
	}
}

/* The frame of each function that most samples have, the first one where several do. */
static void choose_frames(struct counting *c)
{
	for (size_t i = 0; i < c->named->n_frames; i++) {
		uint32_t function = c->named->function_of[i];
		const struct xp_frame *best = c->spots[function].frame;

		if (best && c->frame_samples[i] <= c->frame_samples[c->best_frame[function]])
			continue;
		c->best_frame[function] = (uint32_t)i;
		c->spots[function].frame = c->named->frames[i];
	}
}

/* The name stays the sum's. */
static struct xp_hot_thread hot_thread(const struct in_thread *from)
{
	return (struct xp_hot_thread){
		.tid = from->tid,
		.name = from->name,
		.inclusive = from->inclusive,
		.exclusive = from->exclusive,
		.in_copy = from->in_copy,
		.in_launch = from->in_launch,
		.in_kernel = from->in_kernel,
	};
}

static void take_busiest(struct counting *c, struct xp_arena *arena)
{
	for (size_t i = 0; i < c->n_threads; i++) {
		const struct in_thread *from = &c->threads[i];
		struct xp_hotspot *spot = &c->spots[from->function];
		struct xp_hot_thread thread = hot_thread(from);

		if (!from->inclusive)
			continue;
		if (thread.exclusive > spot->by_exclusive.exclusive)
			spot->by_exclusive = thread;
		if (thread.inclusive > spot->by_inclusive.inclusive)
			spot->by_inclusive = thread;
	}
	for (size_t i = 0; i < c->named->n_functions; i++) {
		c->spots[i].by_exclusive.name = xp_arena_str(arena, c->spots[i].by_exclusive.name);
		c->spots[i].by_inclusive.name = xp_arena_str(arena, c->spots[i].by_inclusive.name);
	}
}

/* Threads that spent a noticeable part of the window in a function, for each function. */
static void take_hot(struct counting *c, double least, struct xp_arena *arena)
{
	size_t total = 0;

	for (size_t i = 0; i < c->n_threads; i++)
		if ((double)c->threads[i].inclusive >= least && ++total)
			c->spots[c->threads[i].function].n_hot++;
	struct xp_hot_thread *hot = xp_arena_array(arena, struct xp_hot_thread, total + 1);
	for (size_t i = 0; i < c->named->n_functions; i++) {
		c->spots[i].hot = hot;
		hot += c->spots[i].n_hot;
		c->spots[i].n_hot = 0;
	}
	for (size_t i = 0; i < c->n_threads; i++) {
		const struct in_thread *from = &c->threads[i];
		struct xp_hotspot *spot = &c->spots[from->function];

		struct xp_hot_thread thread = hot_thread(from);

		if ((double)from->inclusive < least)
			continue;
		thread.name = xp_arena_str(arena, from->name);
		((struct xp_hot_thread *)spot->hot)[spot->n_hot++] = thread;
	}
}

static void take_lines(struct counting *c)
{
	for (size_t i = 0; i < c->lines.cap; i++) {
		const struct xp_map_slot *slot = &c->lines.slots[i];
		struct xp_hotspot *spot = &c->spots[slot->key >> 32];
		const struct xp_frame *line = c->named->frames[(uint32_t)slot->key];

		if (!slot->used || slot->value < spot->python_line_samples)
			continue;
		if (slot->value == spot->python_line_samples && spot->python_line && spot->python_line->line.v <= line->line.v)
			continue;
		spot->python_line = line;
		spot->python_line_samples = slot->value;
	}
}

static void add_shares(struct xp_hotspot *spot, uint64_t observed)
{
	spot->inclusive_proportion = (double)spot->inclusive_samples / (double)observed;
	spot->exclusive_proportion = (double)spot->exclusive_samples / (double)observed;
	spot->inclusive_interval_95 = xp_interval_95(spot->inclusive_samples, observed);
	spot->exclusive_interval_95 = xp_interval_95(spot->exclusive_samples, observed);
}

static int by_samples(const void *a, const void *b)
{
	const struct xp_hotspot *x = a, *y = b;

	if (x->exclusive_samples != y->exclusive_samples)
		return x->exclusive_samples > y->exclusive_samples ? -1 : 1;
	if (x->inclusive_samples != y->inclusive_samples)
		return x->inclusive_samples > y->inclusive_samples ? -1 : 1;
	int order = strcmp(x->frame->symbol ? x->frame->symbol : "", y->frame->symbol ? y->frame->symbol : "");
	if (order)
		return order;
	return x->frame->address != y->frame->address ? (x->frame->address < y->frame->address ? -1 : 1)
						      : (int)x->frame->line.v - (int)y->frame->line.v;
}

void xp_cpu_hotspots(const struct xp_cpu_sum *sum, const struct xp_named_stacks *named, const struct xp_cpu_facts *facts,
		     struct xp_arena *arena, struct xp_cpu_samples *out)
{
	xp_auto(xp_arena_free) struct xp_arena *work = xp_arena_new();
	struct counting c = {
		.sum = sum,
		.named = named,
		.spots = xp_arena_array(arena, struct xp_hotspot, named->n_functions + 1),
		.best_frame = xp_arena_array(work, uint32_t, named->n_functions + 1),
		.frame_samples = xp_arena_array(work, uint64_t, named->n_frames + 1),
		.seen_in = xp_arena_array(work, uint32_t, named->n_functions + 1),
	};

	for (size_t i = 0; i < sum->n_cells; i++)
		count_cell(&c, &sum->cells[i], (uint32_t)i + 1);
	choose_frames(&c);
	take_busiest(&c, arena);
	double ticks = (double)(facts->window->end_ns - facts->window->start_ns) / 1e9 * (double)facts->request->frequency_hz;
	take_hot(&c, ticks * XP_HOT_SHARE > 1 ? ticks * XP_HOT_SHARE : 1, arena);
	take_lines(&c);
	for (size_t i = 0; i < named->n_functions; i++)
		add_shares(&c.spots[i], sum->observed);
	if (named->n_functions)
		qsort(c.spots, named->n_functions, sizeof(*c.spots), by_samples);
	free(c.threads);
	xp_map_done(&c.in_thread);
	xp_map_done(&c.lines);
	out->inventory.hotspots = c.spots;
	out->inventory.n_hotspots = named->n_functions;
}
