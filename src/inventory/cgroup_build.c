// SPDX-License-Identifier: Apache-2.0
/* Counts what happened in the window at each level and picks the level that tells most. No state. */
#include "inventory/cgroup_build.h"

#include <string.h>

static size_t components(const char *path)
{
	size_t n = 0;

	for (; *path; path++)
		n += path[0] == '/' && path[1] != '\0' && path[1] != '/';
	return n;
}

/* path without its last n components; "/" when nothing is left. */
static char *parent(struct xp_arena *arena, const char *path, size_t n, const char *when_empty)
{
	char *copy = xp_arena_str(arena, path);

	for (; n; n--) {
		char *slash = strrchr(copy, '/');

		if (!slash)
			break;
		*slash = '\0';
	}
	return *copy ? copy : xp_arena_str(arena, when_empty);
}

char *xp_cgroup_level_directory(const struct xp_cgroup_place *place, size_t level, struct xp_arena *arena)
{
	if (level > components(place->directory + place->mount_len))
		return NULL;
	return parent(arena, place->directory, level, "/");
}

static uint64_t grown(uint64_t base, uint64_t end)
{
	return end > base ? end - base : 0;
}

static struct xp_cgroup_level make_level(const struct xp_cgroup_reading *base, const struct xp_cgroup_reading *end)
{
	struct xp_cgroup_level level = { 0 };

	if (end->has_quota)
		level.period_us = (struct xp_opt_u64)XP_SOME(end->period_us);
	if (end->has_quota && end->quota_us >= 0) {
		level.quota_us = (struct xp_opt_i64)XP_SOME(end->quota_us);
		if (end->period_us)
			level.cpus = (struct xp_opt_f64)XP_SOME((double)end->quota_us / (double)end->period_us);
	}
	if (base->has_stat && end->has_stat) {
		level.throttled_ns = (struct xp_opt_u64)XP_SOME(grown(base->throttled_ns, end->throttled_ns));
		level.throttled_periods = (struct xp_opt_u64)XP_SOME(grown(base->throttled_periods, end->throttled_periods));
		level.periods = (struct xp_opt_u64)XP_SOME(grown(base->periods, end->periods));
	}
	return level;
}

/* The one that stopped the target longest; when none did, the one that allows the fewest CPUs; when none limits, the own group. */
static uint32_t choose(const struct xp_cgroup_level *levels, size_t n)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < n; i++) {
		const struct xp_cgroup_level *a = &levels[i], *b = &levels[best];
		uint64_t p = a->throttled_ns.set ? a->throttled_ns.v : 0, q = b->throttled_ns.set ? b->throttled_ns.v : 0;

		if (p > q || (p == q && a->cpus.set && (!b->cpus.set || a->cpus.v < b->cpus.v)))
			best = i;
	}
	return best;
}

struct xp_cgroup *xp_cgroup_build(const struct xp_cgroup_place *place, const struct xp_cgroup_readings *readings, struct xp_arena *arena)
{
	struct xp_cgroup *value = xp_arena_new_of(arena, struct xp_cgroup);
	struct xp_cgroup_level *levels = xp_arena_array(arena, struct xp_cgroup_level, readings->n);

	for (size_t i = 0; i < readings->n; i++) {
		levels[i] = make_level(&readings->base[i], &readings->end[i]);
		levels[i].level = (uint32_t)i;
		levels[i].path = parent(arena, strcmp(place->path, "/") ? place->path : "", i, "/");
	}
	/* The real root of a v2 hierarchy has no cpu.max: one that has it is the top of a namespace. */
	bool limited_top = place->version == XP_CGROUP_V2 && readings->n && readings->end[readings->n - 1].has_quota;
	if (place->hidden_above || limited_top)
		value->note = "groups above the mounted part of the hierarchy cannot be seen from here; a limit there would not show";
	value->version = place->version;
	value->path = xp_arena_str(arena, place->path);
	value->directory = xp_arena_str(arena, place->directory);
	value->levels = levels;
	value->n_levels = readings->n;
	value->chosen = choose(levels, readings->n);
	return value;
}
