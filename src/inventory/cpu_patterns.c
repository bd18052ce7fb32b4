/* SPDX-License-Identifier: Apache-2.0 */
/* Samples and CPU time by thread and by thread name pattern. In: sums, readings of /proc. Out: lists in the arena. No state. */
#include <stdlib.h>
#include <string.h>

#include "inventory/cpu_build.h"
#include "inventory/inventory.h"
#include "target/thread_pattern.h"

struct patterns {
	struct xp_cpu_pattern *at;
	size_t n;
	struct xp_map of;
};

static bool same_pattern(uint64_t value, const void *arg)
{
	const struct xp_cpu_pattern *const *query = arg;

	return !strcmp(query[0][value].name_pattern, query[1]->name_pattern);
}

static struct xp_cpu_pattern *pattern_at(struct patterns *patterns, const char *name_pattern)
{
	struct xp_cpu_pattern want = { .name_pattern = name_pattern };
	const struct xp_cpu_pattern *query[] = { patterns->at, &want };
	bool new;
	uint64_t *at = xp_map_at(&patterns->of, xp_hash_bytes(name_pattern, strlen(name_pattern), 0), same_pattern, query, &new);

	if (new) {
		patterns->at[patterns->n] = want;
		*at = patterns->n++;
	}
	return &patterns->at[*at];
}

static int by_samples(const void *a, const void *b)
{
	const struct xp_cpu_pattern *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	if (x->cpu_ns != y->cpu_ns)
		return x->cpu_ns > y->cpu_ns ? -1 : 1;
	return strcmp(x->name_pattern, y->name_pattern);
}

/* Patterns behind the 15th make the row "*". */
static void list(struct patterns *patterns, struct xp_arena *arena, struct xp_cpu_samples *out)
{
	struct xp_cpu_pattern *rows = xp_arena_array(arena, struct xp_cpu_pattern, XP_MAX_PATTERNS);
	size_t whole = patterns->n > XP_MAX_PATTERNS ? XP_MAX_PATTERNS - 1 : patterns->n;

	if (patterns->n)
		qsort(patterns->at, patterns->n, sizeof(*patterns->at), by_samples);
	for (size_t i = 0; i < patterns->n; i++) {
		const struct xp_cpu_pattern *from = &patterns->at[i];
		struct xp_cpu_pattern *to = &rows[i < whole ? i : whole];

		to->name_pattern = i < whole ? xp_arena_str(arena, from->name_pattern) : "*";
		to->threads += from->threads;
		to->samples += from->samples;
		to->cpu_ns += from->cpu_ns;
	}
	out->threads = rows;
	out->n_threads = patterns->n > whole ? whole + 1 : whole;
}

/* A thread's CPU time goes to the name that it had in most samples; of a thread that has ended, samples are all there is. */
void xp_cpu_patterns(const struct xp_cpu_sum *sum, const struct xp_cpu_facts *facts, struct xp_arena *arena, struct xp_cpu_samples *out)
{
	xp_auto(xp_arena_free) struct xp_arena *work = xp_arena_new();
	struct patterns patterns = { .at = xp_arena_array(work, struct xp_cpu_pattern, sum->n_threads + facts->n_times + 1) };
	uint64_t period_ns = 1000000000 / facts->request->frequency_hz;
	struct xp_map main_name = { 0 }; /* tid -> index of the thread entry with most samples, + 1 */
	bool new;

	for (size_t i = 0; i < sum->n_threads; i++) {
		uint64_t *at = xp_map_at(&main_name, sum->threads[i].tid, NULL, NULL, &new);

		if (new || sum->threads[i].samples > sum->threads[*at - 1].samples)
			*at = i + 1;
	}
	for (size_t i = 0; i < facts->n_times; i++) {
		const struct xp_cpu_time *time = &facts->times[i];
		uint64_t *at = xp_map_find(&main_name, time->tid, NULL, NULL);
		const char *name = at && *at ? sum->threads[*at - 1].name : time->name;

		if (!at && facts->request->threads)
			continue;
		struct xp_cpu_pattern *pattern = pattern_at(&patterns, xp_thread_pattern(work, name));
		pattern->cpu_ns += time->cpu_ns;
		pattern->threads += !at || !*at;
		if (at)
			*xp_map_at(&main_name, (uint64_t)time->tid | 1ull << 32, NULL, NULL, &new) = 1;
	}
	for (size_t i = 0; i < sum->n_threads; i++) {
		const struct xp_cpu_sum_thread *thread = &sum->threads[i];
		struct xp_cpu_pattern *pattern = pattern_at(&patterns, thread->name_pattern);

		pattern->samples += thread->samples;
		pattern->threads++;
		if (!xp_map_find(&main_name, (uint64_t)thread->tid | 1ull << 32, NULL, NULL))
			pattern->cpu_ns += thread->samples * period_ns;
	}
	list(&patterns, arena, out);
	xp_map_done(&patterns.of);
	xp_map_done(&main_name);
}

enum { MAX_CALLS = 16 };

static void count_call(struct xp_cpu_thread *thread, const char *name, uint64_t samples, struct xp_arena *arena)
{
	struct xp_cpu_call *calls = (struct xp_cpu_call *)thread->calls;
	size_t at = 0;

	if (!calls)
		thread->calls = calls = xp_arena_array(arena, struct xp_cpu_call, MAX_CALLS);
	while (at < thread->n_calls && calls[at].name != name)
		at++;
	if (at == MAX_CALLS)
		return;
	calls[at].name = name;
	thread->n_calls += at == thread->n_calls;
	calls[at].samples += samples;
	for (; at && calls[at].samples > calls[at - 1].samples; at--) {
		struct xp_cpu_call swap = calls[at];

		calls[at] = calls[at - 1];
		calls[at - 1] = swap;
	}
}

enum { MAX_CUDA_CALLS = 16 };

static const struct xp_frame *python_line(const struct xp_named_stacks *named, const struct xp_named_stack *stack)
{
	for (uint32_t i = 0; i < stack->n; i++) {
		const struct xp_frame *frame = named->frames[named->words[stack->first + i]];

		if (frame->kind == XP_FRAME_PYTHON)
			return frame;
	}
	return NULL;
}

static void count_cuda(struct xp_cpu_thread *thread, const struct xp_named_stacks *named, const struct xp_named_stack *stack,
		       uint64_t samples, struct xp_arena *arena)
{
	struct xp_cuda_use *uses = (struct xp_cuda_use *)thread->cuda;

	if (!uses)
		thread->cuda = uses = xp_arena_array(arena, struct xp_cuda_use, MAX_CUDA_CALLS);
	if (thread->n_cuda == MAX_CUDA_CALLS)
		return;
	struct xp_cuda_use *use = xp_cuda_use_at(uses, &thread->n_cuda, thread->tid, stack->cuda_call);
	use->thread_name = thread->name;
	use->amount += samples;
	if (samples > use->of_stack) {
		use->of_stack = samples;
		use->frames = xp_named_stack_frames(named, stack, arena);
		use->n_frames = stack->n;
		use->line = python_line(named, stack);
	}
	for (; use > uses && use->amount > use[-1].amount; use--) { /* every call is one entry, wherever it is now */
		struct xp_cuda_use swap = *use;

		*use = use[-1];
		use[-1] = swap;
	}
}

static int busiest_first(const void *a, const void *b)
{
	const struct xp_cpu_thread *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* The Python line of the largest stack of each use, and what all stacks below that line took. */
static void count_lines(const struct xp_cpu_sum *sum, const struct xp_named_stacks *named, struct xp_cpu_thread *threads,
			const struct xp_map *thread_of)
{
	for (size_t i = 0; i < sum->n_cells; i++) {
		const struct xp_cpu_cell *cell = &sum->cells[i];
		const struct xp_named_stack *stack = &named->stacks[cell->stack];
		const uint64_t *at = stack->cuda_call ? xp_map_find(thread_of, sum->threads[cell->thread].tid, NULL, NULL) : NULL;
		const struct xp_frame *line = at ? python_line(named, stack) : NULL;

		for (size_t c = 0; line && c < threads[*at].n_cuda; c++) {
			struct xp_cuda_use *use = (struct xp_cuda_use *)&threads[*at].cuda[c];

			if (use->call == stack->cuda_call && use->line == line)
				use->of_line += cell->samples;
		}
	}
}

void xp_cpu_by_thread(const struct xp_cpu_sum *sum, const struct xp_named_stacks *named, struct xp_arena *arena, struct xp_cpu_samples *out)
{
	struct xp_cpu_thread *threads = xp_arena_array(arena, struct xp_cpu_thread, sum->n_threads + 1);
	struct xp_map thread_of = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < sum->n_cells; i++) {
		const struct xp_cpu_cell *cell = &sum->cells[i];
		const struct xp_cpu_sum_thread *from = &sum->threads[cell->thread];
		const struct xp_named_stack *stack = &named->stacks[cell->stack];
		bool new;
		uint64_t *at = xp_map_at(&thread_of, from->tid, NULL, NULL, &new);

		if (new) {
			*at = n;
			threads[n++] = (struct xp_cpu_thread){
				.tid = from->tid,
				.name = xp_arena_str(arena, from->name),
				.name_pattern = xp_arena_str(arena, from->name_pattern),
			};
		}
		threads[*at].samples += cell->samples;
		threads[*at].gc_samples += stack->collector ? cell->samples : 0;
		if (stack->cuda_call)
			count_cuda(&threads[*at], named, stack, cell->samples, arena);
		if (xp_named_stack_waits(stack))
			continue;
		threads[*at].kernel_samples += sum->stacks.stacks[cell->stack].n_kernel ? cell->samples : 0;
		threads[*at].fault_samples += stack->page_fault ? cell->samples : 0;
		if (stack->kernel_call)
			count_call(&threads[*at], stack->kernel_call, cell->samples, arena);
	}
	count_lines(sum, named, threads, &thread_of);
	xp_map_done(&thread_of);
	if (n)
		qsort(threads, n, sizeof(*threads), busiest_first);
	out->by_thread = threads;
	out->n_by_thread = n;
}
