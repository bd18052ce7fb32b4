/* SPDX-License-Identifier: Apache-2.0 */
/* Groups, uses and threads out of sums. In: struct xp_off_cpu_sum, named stacks. Out: struct xp_off_cpu_value. No state. */
#include "inventory/off_cpu_build.h"

#include <stdlib.h>
#include <string.h>

#include "arch/x86_64/syscalls.h"
#include "base/arena.h"

/* What is built, with the indexes that find equal things. */
struct building {
	const struct xp_off_cpu_sum *sum;
	const struct xp_named_stacks *named;
	struct xp_arena *arena;
	struct xp_map group_of, use_of;
	struct xp_off_cpu_group **groups;
	struct xp_off_cpu_use *uses;
	struct xp_cuda_use *cuda;
	size_t n_groups, n_uses, n_cuda;
	uint64_t *longest_ns; /* by use: what `longest` took */
	uint64_t *lock_ns;    /* by use: what `lock` took */
};

static const char *call_of(struct xp_sched_place place)
{
	if (place.nr == XP_SCHED_NO_CALL)
		return NULL;
	return place.compat ? xp_syscall_name_32(place.nr) : xp_syscall_name(place.nr);
}

static enum xp_block_reason reason_of_call(const char *call)
{
	if (call && !strncmp(call, "futex", 5))
		return XP_REASON_LOCK;
	if (call && (!strcmp(call, "nanosleep") || !strncmp(call, "clock_nanosleep", 15)))
		return XP_REASON_SLEEP;
	return XP_REASON_SYSCALL;
}

static enum xp_block_reason reason_of(struct xp_sched_place place)
{
	switch (place.where) {
	case XP_BLOCK_CALL:
		return reason_of_call(call_of(place));
	case XP_BLOCK_CALL_IO:
		return XP_REASON_IO;
	case XP_BLOCK_PAGE_FAULT:
		return XP_REASON_PAGE_FAULT;
	case XP_BLOCK_STOPPED:
		return XP_REASON_STOPPED;
	case XP_BLOCK_EXIT:
		return XP_REASON_EXIT;
	default:
		return XP_REASON_OTHER;
	}
}

static const struct xp_named_stack *stack_of(const struct building *b, const struct xp_off_cpu_cell *cell)
{
	return cell->stack < b->named->n_stacks ? &b->named->stacks[cell->stack] : NULL;
}

struct group_query {
	const struct building *b;
	const struct xp_off_cpu_group *like;
	const struct xp_named_stack *stack;
};

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_group(uint64_t index, const void *arg)
{
	const struct group_query *query = arg;
	const struct xp_off_cpu_group *have = query->b->groups[index];
	size_t n = query->stack ? query->stack->n : 0;

	if (have->reason != query->like->reason || have->n_frames != n || have->interpreter_lock != query->like->interpreter_lock ||
	    !same_text(have->syscall_name, query->like->syscall_name) ||
	    !same_text(have->thread_name_pattern, query->like->thread_name_pattern))
		return false;
	for (size_t i = 0; i < n; i++)
		if (have->frames[i] != query->b->named->frames[query->b->named->words[query->stack->first + i]])
			return false;
	return true;
}

static struct xp_off_cpu_group *group_at(struct building *b, const struct xp_off_cpu_cell *cell)
{
	const struct xp_named_stack *stack = stack_of(b, cell);
	struct xp_off_cpu_group like = {
		.thread_name_pattern = b->sum->threads[cell->thread].name_pattern,
		.reason = (int)reason_of(cell->place),
		.syscall_name = call_of(cell->place),
		.interpreter_lock = stack && stack->interpreter_lock,
		.cuda_call = stack ? stack->cuda_call : NULL,
	};
	struct group_query query = { b, &like, stack };
	uint64_t hash =
		xp_hash_bytes(like.thread_name_pattern, strlen(like.thread_name_pattern), (uint64_t)like.reason << 32 | cell->place.nr);
	bool new;

	if (stack)
		hash = xp_hash_bytes(b->named->words + stack->first, stack->n * sizeof(*b->named->words), hash);
	uint64_t *at = xp_map_at(&b->group_of, hash, same_group, &query, &new);
	if (!new)
		return b->groups[*at];
	*at = b->n_groups;
	struct xp_off_cpu_group *group = b->groups[b->n_groups++] = xp_arena_new_of(b->arena, struct xp_off_cpu_group);
	*group = like;
	if (stack) {
		group->frames = xp_named_stack_frames(b->named, stack, b->arena);
		group->n_frames = stack->n;
	}
	return group;
}

struct use_query {
	const struct building *b;
	struct xp_off_cpu_use like;
};

static bool same_use(uint64_t index, const void *arg)
{
	const struct use_query *query = arg;
	const struct xp_off_cpu_use *have = &query->b->uses[index];

	return have->tid == query->like.tid && have->reason == query->like.reason &&
	       same_text(have->thread_name, query->like.thread_name) && same_text(have->syscall_name, query->like.syscall_name);
}

enum { MAX_CUDA_USES = 256 };

static void add_cuda(struct building *b, struct xp_off_cpu_use *use, uint64_t ns, const struct xp_off_cpu_group *group)
{
	struct xp_cuda_use *cuda;

	use->gpu_ns += group->cuda_call->kind == XP_CUDA_WAIT ? ns : 0;
	use->copy_ns += group->cuda_call->kind == XP_CUDA_COPY ? ns : 0;
	if (b->n_cuda == MAX_CUDA_USES)
		return;
	cuda = xp_cuda_use_at(b->cuda, &b->n_cuda, use->tid, group->cuda_call);
	cuda->thread_name = use->thread_name;
	cuda->amount += ns;
	if (ns <= cuda->of_stack)
		return;
	cuda->of_stack = ns;
	cuda->frames = group->frames;
	cuda->line = NULL;
	for (size_t i = group->n_frames; i-- > 0;)
		cuda->line = group->frames[i]->kind == XP_FRAME_PYTHON ? group->frames[i] : cuda->line;
	cuda->of_line = ns;
	cuda->n_frames = group->n_frames;
}

static void add_use(struct building *b, const struct xp_off_cpu_cell *cell, const struct xp_off_cpu_group *group)
{
	const struct xp_off_cpu_sum_thread *thread = &b->sum->threads[cell->thread];
	struct use_query query = {
		b, { .tid = thread->tid, .thread_name = thread->name, .syscall_name = group->syscall_name, .reason = group->reason }
	};
	uint64_t hash = xp_hash_mix((uint64_t)cell->thread << 32 | (uint64_t)group->reason << 24 | (cell->place.nr & 0xffffff));
	bool new;
	uint64_t *at = xp_map_at(&b->use_of, hash, same_use, &query, &new), i;

	if (new) {
		*at = b->n_uses;
		b->uses[b->n_uses++] = query.like;
	}
	i = *at;
	struct xp_off_cpu_use *use = &b->uses[i];
	use->count += cell->count;
	use->total_ns += cell->total_ns;
	if (group->cuda_call) {
		add_cuda(b, use, cell->total_ns, group);
		if (group->cuda_call->kind == XP_CUDA_WAIT)
			return;
	}
	if (group->interpreter_lock) {
		use->lock_ns += cell->total_ns;
		if (!use->lock || cell->total_ns > b->lock_ns[i]) {
			use->lock = group;
			b->lock_ns[i] = cell->total_ns;
		}
	} else if (group->n_frames && (!use->longest || cell->total_ns > b->longest_ns[i])) {
		use->longest = group;
		b->longest_ns[i] = cell->total_ns;
	}
}

static void add_cell(struct building *b, const struct xp_off_cpu_cell *cell)
{
	struct xp_off_cpu_group *group = group_at(b, cell);

	group->count += cell->count;
	group->total_ns += cell->total_ns;
	group->open_at_end += cell->open;
	if (cell->max_ns > group->max_ns)
		group->max_ns = cell->max_ns;
	if (!group->wait_channel)
		group->wait_channel = cell->wait_channel;
	add_use(b, cell, group);
}

static int falling(uint64_t a, uint64_t b)
{
	return a == b ? 0 : a > b ? -1 : 1;
}

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int by_total(const void *a, const void *b)
{
	const struct xp_off_cpu_group *x = *(struct xp_off_cpu_group *const *)a, *y = *(struct xp_off_cpu_group *const *)b;
	int order = falling(x->total_ns, y->total_ns);

	if (!order)
		order = falling(x->count, y->count);
	if (!order)
		order = compare_text(x->thread_name_pattern, y->thread_name_pattern);
	return order ? order : compare_text(x->syscall_name, y->syscall_name);
}

static int use_by_total(const void *a, const void *b)
{
	const struct xp_off_cpu_use *x = a, *y = b;
	int order = falling(x->total_ns, y->total_ns);

	return order ? order : x->tid < y->tid ? -1 : x->tid > y->tid;
}

static int by_blocked(const void *a, const void *b)
{
	const struct xp_off_cpu_thread *x = a, *y = b;
	int order = falling(x->blocked_ns, y->blocked_ns);

	return order ? order : x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void take_threads(const struct building *b, struct xp_off_cpu_value *out)
{
	struct xp_off_cpu_thread *threads = xp_arena_array(b->arena, struct xp_off_cpu_thread, b->sum->n_threads + 1);

	for (size_t i = 0; i < b->sum->n_threads; i++) {
		const struct xp_off_cpu_sum_thread *from = &b->sum->threads[i];

		if (!from->booked)
			continue;
		threads[out->n_threads++] = (struct xp_off_cpu_thread){
			.tid = from->tid,
			.name = from->name,
			.wall_ns = from->wall_ns,
			.ended = from->ended,
			.on_cpu_ns = from->ns[XP_SCHED_RUNNING],
			.runqueue_ns = from->ns[XP_SCHED_RUNNABLE],
			.blocked_ns = from->ns[XP_SCHED_BLOCKED],
		};
		out->blocked_ns += from->ns[XP_SCHED_BLOCKED];
		out->runqueue_ns += from->ns[XP_SCHED_RUNNABLE];
	}
	qsort(threads, out->n_threads, sizeof(*threads), by_blocked);
	out->threads = threads;
}

/* Takes n of what is left to explain. */
static void explain(struct xp_account *account, const char *reason, uint64_t n, uint64_t *left)
{
	n = n < *left ? n : *left;
	*left -= n;
	if (n)
		account->dropped_reasons[account->n_dropped_reasons++] = (struct xp_count){ reason, n };
}

/* The records are blocks; one is dropped when its thread's books are lost, or when it should have a stack and has none. */
static void take_account(const struct building *b, const struct xp_sched_lost *lost, struct xp_off_cpu_value *out)
{
	struct xp_account *account = &out->account;
	uint64_t left = b->sum->stacks_lost + lost->blocks;

	*account = (struct xp_account){ .source = "ebpf_sched", .dropped = left, .filtered = b->sum->filtered };
	account->emitted = b->sum->blocks + b->sum->filtered + lost->blocks;
	account->delivered = account->emitted - account->dropped - account->filtered;
	for (size_t i = 0; i < b->sum->n_cells; i++)
		account->still_open += b->sum->cells[i].open;
	account->dropped_reasons = xp_arena_array(b->arena, struct xp_count, 4);
	explain(account, "ring_full", lost->ring_full + lost->blocks, &left);
	explain(account, "throttled", lost->over_budget, &left);
	explain(account, "table_full", b->sum->no_room, &left);
	explain(account, "read_fault", left, &left);
	out->threads_lost = lost->threads + lost->no_storage;
	out->blocked_ns += lost->ns[XP_SCHED_BLOCKED];
	out->runqueue_ns += lost->ns[XP_SCHED_RUNNABLE];
}

static void take_groups(struct building *b, uint64_t max_groups, struct xp_off_cpu_value *out)
{
	struct xp_off_cpu_group *groups;

	qsort(b->groups, b->n_groups, sizeof(*b->groups), by_total);
	out->n_groups = b->n_groups < max_groups ? b->n_groups : max_groups;
	out->n_groups_total = b->n_groups;
	groups = xp_arena_array(b->arena, struct xp_off_cpu_group, out->n_groups + 1);
	for (size_t i = 0; i < out->n_groups; i++) {
		groups[i] = *b->groups[i];
		out->blocks_listed += groups[i].count;
	}
	out->groups = groups;
	qsort(b->uses, b->n_uses, sizeof(*b->uses), use_by_total);
	out->uses = b->uses;
	out->n_uses = b->n_uses;
}

/* The list only: frames live in the arena. */
static void keep_frames(const struct xp_named_stacks *named, struct xp_arena *arena, struct xp_off_cpu_value *out)
{
	struct xp_frame **frames = xp_arena_array(arena, struct xp_frame *, named->n_frames + 1);

	for (; out->n_frames < named->n_frames; out->n_frames++)
		frames[out->n_frames] = named->frames[out->n_frames];
	out->frames = frames;
}

struct xp_off_cpu_value *xp_off_cpu_build(const struct xp_off_cpu_sum *sum, const struct xp_named_stacks *named,
					  const struct xp_sched_lost *lost, uint64_t max_groups, struct xp_arena *arena)
{
	struct xp_off_cpu_value *out = xp_arena_new_of(arena, struct xp_off_cpu_value);
	size_t n = sum->n_cells + 1;
	struct building b = {
		.sum = sum,
		.named = named,
		.arena = arena,
		.groups = xp_arena_array(arena, struct xp_off_cpu_group *, n),
		.uses = xp_arena_array(arena, struct xp_off_cpu_use, n),
		.longest_ns = xp_arena_array(arena, uint64_t, n),
		.lock_ns = xp_arena_array(arena, uint64_t, n),
		.cuda = xp_arena_array(arena, struct xp_cuda_use, MAX_CUDA_USES),
	};

	*out = (struct xp_off_cpu_value){ .min_block_us = sum->min_block_ns / 1000,
					  .blocks_total = sum->blocks + lost->blocks,
					  .stacks_lost = sum->stacks_lost,
					  .deadline_reached = named->counts.deadline_reached,
					  .arena = arena };
	for (size_t i = 0; i < sum->n_cells; i++)
		add_cell(&b, &sum->cells[i]);
	take_groups(&b, max_groups, out);
	keep_frames(named, arena, out);
	out->cuda = b.cuda;
	out->n_cuda = b.n_cuda;
	take_threads(&b, out);
	take_account(&b, lost, out);
	xp_map_done(&b.group_of);
	xp_map_done(&b.use_of);
	return out;
}
