/* SPDX-License-Identifier: Apache-2.0 */
/* CPU samples -> counts. In: records. Out: struct xp_cpu_sum. State: its tables. */
#include "inventory/cpu_sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/regex.h"
#include "base/text.h"
#include "target/thread_pattern.h"

int xp_cpu_sum_init(struct xp_cpu_sum *sum, struct xp_err *reterr)
{
	return xp_raw_stacks_init(&sum->stacks, reterr);
}

void xp_cpu_sum_done(struct xp_cpu_sum *sum)
{
	xp_raw_stacks_done(&sum->stacks);
	xp_map_done(&sum->thread_of);
	xp_map_done(&sum->cell_of);
	free(sum->threads);
	free(sum->cells);
	*sum = (struct xp_cpu_sum){ 0 };
}

struct thread_query {
	const struct xp_cpu_sum *sum;
	uint32_t tid;
	const char *name;
};

static bool same_thread(uint64_t value, const void *arg)
{
	const struct thread_query *query = arg;
	const struct xp_cpu_sum_thread *have = &query->sum->threads[value];

	return have->tid == query->tid && !strcmp(have->name, query->name);
}

static int grow(void **items, size_t *cap, size_t n, size_t size, struct xp_err *reterr)
{
	size_t wanted = *cap ? *cap * 2 : 256;

	if (n < *cap)
		return 0;
	void *grown = realloc(*items, wanted * size);
	if (!grown)
		return xp_fail_sys(reterr, ENOMEM, "realloc", "%zu sums of samples", wanted);
	*items = grown;
	*cap = wanted;
	return 0;
}

static int find_thread(struct xp_cpu_sum *sum, const struct xp_rec_sample *sample, const char *name, uint32_t *ret_thread,
		       struct xp_err *reterr)
{
	struct thread_query query = { sum, sample->tid, name };
	uint64_t key = xp_hash_bytes(name, strlen(name), sample->tid);
	bool new;
	int rc = grow((void **)&sum->threads, &sum->cap_threads, sum->n_threads, sizeof(*sum->threads), reterr);

	if (rc)
		return rc;
	uint64_t *at = xp_map_at(&sum->thread_of, key, same_thread, &query, &new);
	if (new) {
		*at = sum->n_threads;
		sum->threads[sum->n_threads++] = (struct xp_cpu_sum_thread){
			.tid = sample->tid,
			.name = xp_arena_str(sum->arena, name),
			.name_pattern = xp_thread_pattern(sum->arena, name),
		};
	}
	*ret_thread = (uint32_t)*at;
	sum->threads[*at].samples++;
	return 0;
}

static int count(struct xp_cpu_sum *sum, uint32_t thread, uint32_t stack, struct xp_err *reterr)
{
	bool new;
	int rc = grow((void **)&sum->cells, &sum->cap_cells, sum->n_cells, sizeof(*sum->cells), reterr);

	if (rc)
		return rc;
	uint64_t *at = xp_map_at(&sum->cell_of, (uint64_t)thread << 32 | stack, NULL, NULL, &new);
	if (new) {
		*at = sum->n_cells;
		sum->cells[sum->n_cells++] = (struct xp_cpu_cell){ .thread = thread, .stack = stack };
	}
	sum->cells[*at].samples++;
	return 0;
}

int xp_cpu_sum_take(void *arg, const struct xp_rec_sample *sample, struct xp_err *reterr)
{
	struct xp_cpu_sum *sum = arg;
	struct xp_sample_parts parts;
	char name[sizeof(sample->comm) + 1] = "";
	uint32_t stack, thread;

	memcpy(name, sample->comm, sizeof(sample->comm));
	sum->taken++;
	if (!xp_sample_split(sample, &parts)) {
		sum->damaged++;
		return 0;
	}
	if (sum->filter) {
		int found = xp_regex_search(sum->filter, name, strlen(name), reterr);

		if (found < 0)
			return found;
		sum->filtered += !found;
		if (!found)
			return 0;
	}
	if (sum->observed >= sum->max_samples) {
		sum->beyond++;
		return 0;
	}
	if (!xp_raw_stacks_take(&sum->stacks, sample, &parts, &stack)) {
		sum->no_room++;
		return 0;
	}
	int rc = find_thread(sum, sample, name, &thread, reterr);
	if (!rc)
		rc = count(sum, thread, stack, reterr);
	if (rc)
		return rc;
	sum->observed++;
	sum->kernel += (sample->flags & XP_SAMPLE_IN_KERNEL) != 0;
	sum->torn += sum->stacks.stacks[stack].python == XP_PYTHON_TORN;
	return 0;
}
