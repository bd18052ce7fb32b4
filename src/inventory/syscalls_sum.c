/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by call, name pattern and thread. In: records of the engine. State: struct xp_syscalls_sum, owned by the caller. */
#include "inventory/syscalls_sum.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/regex.h"
#include "target/thread_pattern.h"

void xp_syscalls_sum_done(struct xp_syscalls_sum *sum)
{
	for (size_t i = 0; i < sum->n_groups; i++)
		free(sum->groups[i].errnos);
	free(sum->groups);
	free(sum->patterns);
	free(sum->threads);
	free(sum->rows);
	free(sum->open);
	xp_map_done(&sum->group_of);
	xp_map_done(&sum->pattern_of);
	xp_map_done(&sum->thread_of);
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

struct name_of {
	const struct xp_syscalls_sum *sum;
	const char *name;
};

static bool same_pattern(uint64_t index, const void *arg)
{
	const struct name_of *wanted = arg;

	return !strcmp(wanted->sum->patterns[index].name, wanted->name);
}

/* Index of the pattern of a thread's name; 0, the rest, when the table is full. */
static size_t pattern_of(struct xp_syscalls_sum *sum, const char *name)
{
	char *pattern = xp_thread_pattern(sum->arena, name);
	struct name_of wanted = { sum, pattern };
	bool new;

	if (!sum->n_patterns)
		APPEND(sum, patterns);
	uint64_t hash = xp_hash_bytes(pattern, strlen(pattern), 0);
	if (sum->n_patterns > XP_SUM_PATTERNS && !xp_map_find(&sum->pattern_of, hash, same_pattern, &wanted))
		return 0;
	uint64_t *index = xp_map_at(&sum->pattern_of, hash, same_pattern, &wanted, &new);
	if (new) {
		*index = sum->n_patterns;
		((struct xp_sum_pattern *)APPEND(sum, patterns))->name = pattern;
	}
	return *index;
}

static void add_counters(struct xp_sys_thread *total, const struct xp_sys_thread *thread)
{
	total->entries += thread->entries;
	total->matched += thread->matched;
	total->unmatched += thread->unmatched;
	total->no_return += thread->no_return;
	total->dropped_inflight += thread->dropped_inflight;
	total->dropped_table += thread->dropped_table;
	total->dropped_missed += thread->dropped_missed;
	total->own_probe += thread->own_probe;
	total->open_at_start_ended += thread->open_at_start_ended;
}

/* rt_sigreturn and calls made for probes pass at once; a dropped one is on the books already. */
static void add_open(struct xp_syscalls_sum *sum, const struct xp_sum_thread *thread, const struct xp_sys_call *call)
{
	if (!(call->flags & XP_SYS_OPEN) || (call->flags & (XP_SYS_OWN | XP_SYS_RETURN | XP_SYS_DROPPED)))
		return;
	struct xp_sum_open *open = APPEND(sum, open);

	open->tid = thread->tid;
	open->nr = call->nr;
	open->start_ns = call->start_ns;
	open->compat = call->flags & XP_SYS_COMPAT;
	open->counted = call->flags & XP_SYS_COUNTED;
	memcpy(open->name, thread->name, sizeof(open->name));
}

int xp_syscalls_sum_thread(void *opaque, const struct xp_sys_thread *thread, struct xp_err *reterr)
{
	struct xp_syscalls_sum *sum = opaque;
	struct xp_sum_thread seen = { .thread = thread->thread, .tid = thread->tid, .kept = true };
	bool ended = thread->flags & XP_SYS_THREAD_ENDED, new;

	memcpy(seen.name, thread->name, sizeof(seen.name) - 1);
	if (sum->filter) {
		int found = xp_regex_search(sum->filter, seen.name, strlen(seen.name), reterr);

		if (found < 0)
			return found;
		seen.kept = found;
	}
	if (seen.kept) {
		add_counters(&sum->total, thread);
		seen.pattern = pattern_of(sum, seen.name);
		sum->patterns[seen.pattern].threads++;
		add_open(sum, &seen, &thread->open);
		for (uint32_t i = 0; i < thread->n_pending && i < XP_SYS_PENDING; i++)
			add_open(sum, &seen, &thread->pending[i]);
	} else {
		sum->filtered_entries += thread->entries;
	}
	/* An ended thread's cells follow at once, except those outside its bit set. */
	sum->current = seen;
	if (thread->thread && (!ended || (thread->flags & XP_SYS_THREAD_ODD))) {
		*xp_map_at(&sum->thread_of, thread->thread, NULL, NULL, &new) = sum->n_threads;
		*(struct xp_sum_thread *)APPEND(sum, threads) = seen;
	}
	return 0;
}

static struct xp_sum_group *group_at(struct xp_syscalls_sum *sum, const struct xp_sys_key *key)
{
	bool new;
	uint64_t *index = xp_map_at(&sum->group_of, key->nr | (uint64_t)key->compat << 32, NULL, NULL, &new);

	if (new) {
		*index = sum->n_groups;
		struct xp_sum_group *group = APPEND(sum, groups);
		group->nr = key->nr;
		group->compat = key->compat;
		group->min_ns = UINT64_MAX;
	}
	return &sum->groups[*index];
}

static void add_errno(struct xp_sum_group *group, uint32_t errnum, uint64_t n)
{
	size_t i = 0;

	if (!n)
		return;
	while (i < group->n_errnos && group->errnos[i].errnum != errnum)
		i++;
	if (i == group->n_errnos)
		((struct xp_sum_errno *)append(&group->errnos, &group->n_errnos, &group->cap_errnos, sizeof(*group->errnos)))->errnum =
			errnum;
	group->errnos[i].n += n;
}

static void add_cell(struct xp_sum_group *group, const struct xp_sys_cell *cell)
{
	group->threads++;
	group->count += cell->count;
	group->errors += cell->errors;
	group->interrupted += cell->interrupted;
	group->total_ns += cell->total_ns;
	group->min_ns = cell->min_ns < group->min_ns ? cell->min_ns : group->min_ns;
	group->max_ns = cell->max_ns > group->max_ns ? cell->max_ns : group->max_ns;
	for (size_t i = 0; i < XP_SYS_ERRNOS; i++)
		add_errno(group, cell->errnos[i].errnum, cell->errnos[i].n);
	add_errno(group, 0, cell->errno_other);
	for (size_t i = 0; i < XP_SYS_BUCKETS; i++)
		group->buckets[i] += cell->buckets[i];
}

static void add_row(struct xp_syscalls_sum *sum, const struct xp_sum_thread *thread, const struct xp_sys_key *key,
		    const struct xp_sys_cell *cell)
{
	if (sum->n_rows == XP_SUM_ROWS) {
		sum->missed_rows++;
		return;
	}
	struct xp_sum_row *row = APPEND(sum, rows);

	row->tid = thread->tid;
	row->nr = key->nr;
	row->compat = key->compat;
	row->count = cell->count;
	row->total_ns = cell->total_ns;
	row->max_ns = cell->max_ns;
	memcpy(row->name, thread->name, sizeof(row->name));
}

int xp_syscalls_sum_cell(void *opaque, const struct xp_sys_key *key, const struct xp_sys_cell *cell, struct xp_err *reterr)
{
	struct xp_syscalls_sum *sum = opaque;
	const struct xp_sum_thread *thread = &sum->current;

	if (!cell->count)
		return 0;
	if (!thread->thread || thread->thread != key->thread) {
		const uint64_t *index = xp_map_find(&sum->thread_of, key->thread, NULL, NULL);

		thread = index ? &sum->threads[*index] : NULL;
	}
	if (thread ? !thread->kept : sum->filter != NULL)
		return 0;
	if (!sum->n_patterns)
		APPEND(sum, patterns);
	struct xp_sum_pattern *pattern = &sum->patterns[thread ? thread->pattern : 0];
	pattern->calls += cell->count;
	pattern->total_ns += cell->total_ns;
	add_cell(group_at(sum, key), cell);
	if (thread)
		add_row(sum, thread, key, cell);
	return 0;
}

void xp_syscalls_sum_lost(struct xp_syscalls_sum *sum, const struct xp_sys_thread *lost)
{
	if (sum->filter)
		sum->filtered_entries += lost->entries;
	else
		add_counters(&sum->total, lost);
}
