/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of /proc/PID/task/TID/schedstat. In: the target. Out: differences. State: the readings at the start. */
#include "inventory/cpu_times.h"

#include <stdio.h>

#include "engine/proc_parse.h"

void xp_cpu_times_done(struct xp_cpu_times *times)
{
	xp_map_done(&times->base);
}

static bool read_ns(const struct xp_target *target, uint32_t tid, uint64_t *ret_ns)
{
	struct xp_schedstat sched;
	char path[64], text[128];

	snprintf(path, sizeof(path), "task/%u/schedstat", tid);
	ssize_t len = xp_target_read(target, path, text, sizeof(text));
	if (len <= 0 || !xp_parse_schedstat(text, &sched))
		return false;
	*ret_ns = sched.cpu_ns;
	return true;
}

void xp_cpu_times_begin(struct xp_cpu_times *times, struct xp_target *target)
{
	xp_auto(xp_arena_free) struct xp_arena *work = xp_arena_new();
	xp_auto_err gone = { 0 };
	uint32_t *tids;
	size_t n;
	bool new;

	if (xp_target_threads(target, work, &tids, &n, &gone))
		return;
	for (size_t i = 0; i < n; i++) {
		uint64_t ns;

		if (read_ns(target, tids[i], &ns))
			*xp_map_at(&times->base, tids[i], NULL, NULL, &new) = ns;
	}
}

const struct xp_cpu_time *xp_cpu_times_end(const struct xp_cpu_times *times, struct xp_target *target, struct xp_arena *arena,
					   size_t *ret_n)
{
	xp_auto_err gone = { 0 };
	uint32_t *tids;
	size_t n, kept = 0;

	*ret_n = 0;
	if (xp_target_threads(target, arena, &tids, &n, &gone))
		return NULL;
	struct xp_cpu_time *list = xp_arena_array(arena, struct xp_cpu_time, n + 1);
	for (size_t i = 0; i < n; i++) {
		const uint64_t *base = xp_map_find(&times->base, tids[i], NULL, NULL);
		xp_auto_err ended = { 0 };
		struct xp_stat stat;
		uint64_t ns;

		if (!read_ns(target, tids[i], &ns) || ns == (base ? *base : 0) || xp_target_stat(target, tids[i], &stat, &ended))
			continue;
		list[kept++] = (struct xp_cpu_time){ tids[i], xp_arena_str(arena, stat.comm), ns - (base ? *base : 0) };
	}
	*ret_n = kept;
	return list;
}
