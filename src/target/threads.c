/* SPDX-License-Identifier: Apache-2.0 */
/* Thread ids of a process, also while thousands come and go. Out: an ascending list in the arena. No state. */
#include "target/target_priv.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

/* The kernel's own bound on task numbers (PID_MAX_LIMIT, include/linux/threads.h), so that no list can be longer. */
enum { MAX_THREADS = 4 * 1024 * 1024, SWEEPS = 3 };

struct tid_list {
	uint32_t *at;
	size_t n, cap;
};

static void close_dir(DIR *dir)
{
	if (dir)
		closedir(dir);
}
XP_DEFINE_AUTO(DIR *, close_dir);

static void push(struct xp_arena *arena, struct tid_list *list, uint32_t tid)
{
	if (list->n == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 64;
		uint32_t *bigger = xp_arena_array(arena, uint32_t, cap);

		if (list->n)
			memcpy(bigger, list->at, list->n * sizeof(*bigger));
		list->at = bigger;
		list->cap = cap;
	}
	list->at[list->n++] = tid;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void sort_unique(struct tid_list *list)
{
	size_t kept = 0;

	if (list->n)
		qsort(list->at, list->n, sizeof(*list->at), by_value);
	for (size_t i = 0; i < list->n; i++)
		if (!kept || list->at[kept - 1] != list->at[i])
			list->at[kept++] = list->at[i];
	list->n = kept;
}

/* One pass over /proc/PID/task. 0 or -errno. */
static int sweep(const struct xp_target *target, struct xp_arena *arena, struct tid_list *list)
{
	xp_auto_fd fd = xp_target_openat(target, "task");

	if (fd < 0)
		return fd;
	xp_auto(close_dir) DIR *dir = fdopendir(fd);
	if (!dir)
		return -errno;
	fd = -1; /* dir owns it */

	list->n = 0;
	errno = 0;
	for (struct dirent *entry; (entry = readdir(dir)) && list->n < MAX_THREADS;) {
		uint64_t tid;

		if (xp_parse_u64(entry->d_name, &tid) && tid <= UINT32_MAX)
			push(arena, list, (uint32_t)tid);
		errno = 0;
	}
	if (errno)
		return -errno;
	sort_unique(list);
	return 0;
}

int xp_target_threads(const struct xp_target *target, struct xp_arena *arena, uint32_t **ret_tids, size_t *ret_n, struct xp_err *reterr)
{
	struct tid_list best = { 0 }, list = { 0 };

	/* The directory walk loses its place when the thread it stands on ends: a sweep with fewer ids than the kernel counts is repeated.
	 */
	for (unsigned i = 0; i < SWEEPS; i++) {
		struct xp_stat stat;
		int rc = sweep(target, arena, &list);

		if (rc)
			return xp_target_fail(target, -rc, "readdir", "task", reterr);
		if (list.n > best.n) {
			struct tid_list spare = best;

			best = list;
			list = spare;
		}
		rc = xp_target_stat(target, 0, &stat, reterr);
		if (rc)
			return rc;
		if (best.n >= stat.num_threads)
			break;
	}
	*ret_tids = best.at;
	*ret_n = best.n;
	return 0;
}
