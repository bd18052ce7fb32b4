/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of blocks. In: records of the engine. State: struct xp_off_cpu_sum, owned by the caller. */
#include "inventory/off_cpu_sum.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/regex.h"
#include "target/thread_pattern.h"

void xp_off_cpu_sum_done(struct xp_off_cpu_sum *sum)
{
	free(sum->threads);
	free(sum->cells);
	free(sum->stills);
	xp_map_done(&sum->thread_of);
	xp_map_done(&sum->cell_of);
	xp_map_done(&sum->still_of);
	xp_raw_stacks_done(&sum->stacks);
}

/* A zeroed element at the end of the array; out of memory ends the program, as in the arena. */
static void *append(void *array_slot, size_t *n, size_t *cap, size_t size)
{
	void **array = array_slot;

	if (*n == *cap) {
		size_t more = *cap ? *cap * 2 : 64;
		void *bigger = realloc(*array, more * size);

		if (!bigger)
			abort();
		*array = bigger;
		*cap = more;
	}
	void *element = (char *)*array + (*n)++ * size;
	memset(element, 0, size);
	return element;
}

#define APPEND(sum, list) append(&(sum)->list, &(sum)->n_##list, &(sum)->cap_##list, sizeof(*(sum)->list))

struct thread_query {
	const struct xp_off_cpu_sum *sum;
	uint32_t tid;
	const char *name;
};

static bool same_thread(uint64_t index, const void *arg)
{
	const struct thread_query *query = arg;
	const struct xp_off_cpu_sum_thread *have = &query->sum->threads[index];

	return have->tid == query->tid && !strcmp(have->name, query->name);
}

/* 1 with the thread's index, 0 when its name is not wanted, negative as the regex says. comm need not end with NUL. */
static int find_thread(struct xp_off_cpu_sum *sum, uint32_t tid, const char *comm, uint32_t *ret_index, struct xp_err *reterr)
{
	char name[17] = "";
	bool new;

	memcpy(name, comm, 16);
	struct thread_query query = { sum, tid, name };
	uint64_t hash = xp_hash_bytes(name, strlen(name), tid);
	uint64_t *found = xp_map_find(&sum->thread_of, hash, same_thread, &query);
	if (found) {
		*ret_index = (uint32_t)*found;
		return 1;
	}
	int wanted = sum->filter ? xp_regex_search(sum->filter, name, strlen(name), reterr) : 1;
	if (wanted <= 0)
		return wanted;
	uint64_t *at = xp_map_at(&sum->thread_of, hash, same_thread, &query, &new);
	*ret_index = (uint32_t)sum->n_threads;
	*at = sum->n_threads;
	struct xp_off_cpu_sum_thread *thread = APPEND(sum, threads);
	thread->tid = tid;
	thread->name = xp_arena_str(sum->arena, name);
	thread->name_pattern = xp_thread_pattern(sum->arena, name);
	return 1;
}

struct cell_query {
	const struct xp_off_cpu_sum *sum;
	uint32_t thread, stack;
	struct xp_sched_place place;
};

static bool same_cell(uint64_t index, const void *arg)
{
	const struct cell_query *query = arg;
	const struct xp_off_cpu_cell *have = &query->sum->cells[index];

	return have->thread == query->thread && have->stack == query->stack && have->place.nr == query->place.nr &&
	       have->place.where == query->place.where && have->place.compat == query->place.compat;
}

/* The cell; above the bound only cells without a stack are new, and *ret_lost tells that a stack was given up. */
static struct xp_off_cpu_cell *cell_at(struct xp_off_cpu_sum *sum, uint32_t thread, struct xp_sched_place place, uint32_t stack,
				       bool *ret_lost)
{
	struct cell_query query = { sum, thread, stack, place };
	uint64_t key = (uint64_t)thread << 32 | stack, salt = (uint64_t)place.nr << 16 | (uint64_t)place.where << 8 | place.compat;
	uint64_t hash = xp_hash_mix(key ^ xp_hash_mix(salt));
	bool new;

	if (stack != XP_OFF_CPU_NO_STACK && sum->n_cells >= XP_OFF_CPU_CELLS_MAX && !xp_map_find(&sum->cell_of, hash, same_cell, &query)) {
		*ret_lost = true;
		return cell_at(sum, thread, place, XP_OFF_CPU_NO_STACK, ret_lost);
	}
	uint64_t *at = xp_map_at(&sum->cell_of, hash, same_cell, &query, &new);
	if (!new)
		return &sum->cells[*at];
	*at = sum->n_cells;
	struct xp_off_cpu_cell *cell = APPEND(sum, cells);
	cell->thread = thread;
	cell->stack = stack;
	cell->place = place;
	return cell;
}

static void add(struct xp_off_cpu_cell *cell, uint64_t count, uint64_t total_ns, uint64_t max_ns)
{
	cell->count += count;
	cell->total_ns += total_ns;
	if (max_ns > cell->max_ns)
		cell->max_ns = max_ns;
}

/* Number of the sample's stack, or that it has none. */
static uint32_t stack_of(struct xp_off_cpu_sum *sum, const struct xp_rec_sample *sample)
{
	struct xp_sample_parts parts;
	uint32_t stack;

	if (xp_sample_split(sample, &parts) && xp_raw_stacks_take(&sum->stacks, sample, &parts, &stack))
		return stack;
	return XP_OFF_CPU_NO_STACK;
}

int xp_off_cpu_sum_sample(void *arg, const struct xp_rec_sample *sample, struct xp_err *reterr)
{
	struct xp_off_cpu_sum *sum = arg;
	struct xp_sched_place place = { .nr = sample->nr, .where = sample->where, .compat = (uint8_t)sample->compat };
	uint32_t thread, stack;
	int wanted = find_thread(sum, sample->tid, sample->comm, &thread, reterr);

	if (wanted <= 0)
		return wanted;
	stack = stack_of(sum, sample);
	bool lost = stack == XP_OFF_CPU_NO_STACK;
	add(cell_at(sum, thread, place, stack, &lost), 1, sample->block_ns, sample->block_ns);
	sum->no_room += lost;
	sum->stacks_lost += lost;
	return 0;
}

/* The stack that was read from outside while this very block lasted; NULL: none. */
static const struct xp_off_cpu_still *still_of(const struct xp_off_cpu_sum *sum, const struct xp_sched_thread *thread)
{
	const uint64_t *index = xp_map_find(&sum->still_of, thread->tid, NULL, NULL);

	return index && sum->stills[*index].runs == thread->runs ? &sum->stills[*index] : NULL;
}

/* The block that a living thread is in, or the call whose blocks are not over. */
static void take_unfinished(struct xp_off_cpu_sum *sum, const struct xp_sched_thread *thread, uint32_t index, uint64_t now_ns)
{
	bool blocked = thread->state == XP_SCHED_BLOCKED, lost = false;
	uint64_t ns = (blocked ? now_ns : 0) + (thread->place.nr != XP_SCHED_NO_CALL ? thread->call_ns : 0);
	const struct xp_off_cpu_still *still = blocked ? still_of(sum, thread) : NULL;

	if (!blocked && !thread->call_blocks)
		return;
	uint32_t stack = still ? still->stack : XP_OFF_CPU_NO_STACK;
	struct xp_off_cpu_cell *cell = cell_at(sum, index, thread->place, stack, &lost);
	add(cell, 1, ns, ns);
	cell->open += blocked;
	if (still && !cell->wait_channel)
		cell->wait_channel = still->wait_channel;
	sum->blocks++;
	sum->no_room += lost;
	sum->stacks_lost += (lost || stack == XP_OFF_CPU_NO_STACK) && ns >= sum->min_block_ns;
}

int xp_off_cpu_sum_thread(void *arg, const struct xp_sched_thread *thread, struct xp_err *reterr)
{
	struct xp_off_cpu_sum *sum = arg;
	bool ended = thread->state == XP_SCHED_ENDED, lost = false;
	uint64_t start = thread->born && thread->born_ns > sum->start_ns ? thread->born_ns : sum->start_ns;
	uint64_t end = ended ? thread->ended_ns : sum->end_ns, since = thread->since_ns > start ? thread->since_ns : start;
	uint64_t now_ns = !ended && end > since ? end - since : 0; /* in its last state */
	uint32_t index;
	int wanted = find_thread(sum, thread->tid, thread->name, &index, reterr);

	if (wanted < 0)
		return wanted;
	if (!wanted) {
		sum->filtered += thread->blocks;
		return 0;
	}
	struct xp_off_cpu_sum_thread *row = &sum->threads[index];
	row->booked = true;
	row->ended |= ended;
	row->wall_ns += end > start ? end - start : 0;
	for (int i = 0; i < 3; i++)
		row->ns[i] += thread->ns[i] + (thread->state == i ? now_ns : 0);
	sum->blocks += thread->blocks;
	sum->stacks_lost += thread->stacks_lost;
	for (uint32_t i = 0; i < thread->n_slots && i < XP_SCHED_SLOTS; i++) {
		const struct xp_sched_slot *slot = &thread->slots[i];

		if (slot->count)
			add(cell_at(sum, index, slot->place, XP_OFF_CPU_NO_STACK, &lost), slot->count, slot->total_ns, slot->max_ns);
	}
	if (!ended)
		take_unfinished(sum, thread, index, now_ns);
	return 0;
}

bool xp_off_cpu_sum_wants(const struct xp_off_cpu_sum *sum, const struct xp_sched_thread *thread)
{
	uint64_t since = thread->since_ns > sum->start_ns ? thread->since_ns : sum->start_ns;
	uint64_t ns = (sum->end_ns > since ? sum->end_ns - since : 0) + thread->call_ns;
	xp_auto_err limit = { 0 }; /* a name that exceeds the regex's bound fails the books */

	return thread->state == XP_SCHED_BLOCKED && ns >= sum->min_block_ns &&
	       (!sum->filter || xp_regex_search(sum->filter, thread->name, strnlen(thread->name, sizeof(thread->name)), &limit) > 0);
}

void xp_off_cpu_sum_still(struct xp_off_cpu_sum *sum, const struct xp_sched_thread *thread, const struct xp_rec_sample *sample,
			  const char *wait_channel)
{
	uint32_t stack = stack_of(sum, sample);
	bool new;

	if (stack == XP_OFF_CPU_NO_STACK)
		return;
	*xp_map_at(&sum->still_of, thread->tid, NULL, NULL, &new) = sum->n_stills;
	*(struct xp_off_cpu_still *)APPEND(sum, stills) =
		(struct xp_off_cpu_still){ .runs = thread->runs, .stack = stack, .wait_channel = xp_arena_str(sum->arena, wait_channel) };
}
