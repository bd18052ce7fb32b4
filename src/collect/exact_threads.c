/* SPDX-License-Identifier: Apache-2.0 */
/* Names and namespace ids of the threads that events name. In: thread ids. Out: notes in the store. Read soon, since threads end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/exact_priv.h"

enum { MAX_THREADS = 1 << 20 };

/* "NSpid:\t4242\t17": ids from xprobe's namespace inwards. Returns the innermost one when there are several, else 0. */
static uint32_t innermost(const char *status, const char *key)
{
	const char *line = strstr(status, key);
	const char *first = line ? line + strlen(key) : NULL;
	const char *end = first ? strchr(first, '\n') : NULL;
	const char *last = end;

	if (!end)
		return 0;
	while (last > first && last[-1] != '\t')
		last--;
	return last > first + 1 ? (uint32_t)strtoul(last, NULL, 10) : 0;
}

void xp_exact_threads_init(struct xp_exact_threads *threads, const struct xp_target *target)
{
	char status[4096];

	*threads = (struct xp_exact_threads){};
	threads->nested = xp_target_read(target, "status", status, sizeof(status)) > 0 && innermost(status, "\nNSpid:") != 0;
}

void xp_exact_threads_done(struct xp_exact_threads *threads)
{
	xp_map_done(&threads->seen);
	free(threads->fresh);
}

void xp_exact_threads_see(struct xp_exact_threads *threads, uint32_t tid)
{
	bool fresh;

	if (threads->seen.n >= MAX_THREADS || xp_map_find(&threads->seen, tid, NULL, NULL))
		return;
	if (threads->n_fresh == threads->cap_fresh) {
		size_t cap = threads->cap_fresh ? 2 * threads->cap_fresh : 64;
		uint32_t *tids = reallocarray(threads->fresh, cap, sizeof(*tids));

		if (!tids)
			return;
		threads->fresh = tids;
		threads->cap_fresh = cap;
	}
	xp_map_at(&threads->seen, tid, NULL, NULL, &fresh);
	threads->fresh[threads->n_fresh++] = tid;
}

/* A thread that has ended meanwhile keeps no name: its events are told without one. */
static void read_one(const struct xp_exact_threads *threads, const struct xp_target *target, struct xp_store *store, uint32_t tid)
{
	char path[48], name[64], status[4096];
	uint32_t ns_tid = 0, ns_pid = 0;

	snprintf(path, sizeof(path), "task/%u/comm", tid);
	if (xp_target_read(target, path, name, sizeof(name)) < 0)
		return;
	size_t len = strlen(name);

	if (len && name[len - 1] == '\n')
		name[len - 1] = '\0';
	snprintf(path, sizeof(path), "task/%u/status", tid);
	if (threads->nested && xp_target_read(target, path, status, sizeof(status)) > 0) {
		ns_tid = innermost(status, "\nNSpid:");
		ns_pid = innermost(status, "\nNStgid:");
	}
	xp_store_thread(store, tid, name, ns_tid, ns_pid);
}

void xp_exact_threads_read(struct xp_exact_threads *threads, const struct xp_target *target, struct xp_store *store, size_t limit)
{
	size_t n = threads->n_fresh < limit ? threads->n_fresh : limit;

	for (size_t i = 0; i < n; i++)
		read_one(threads, target, store, threads->fresh[--threads->n_fresh]);
}
