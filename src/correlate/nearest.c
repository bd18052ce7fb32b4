/* SPDX-License-Identifier: Apache-2.0 */
/* nearest: each start in order takes the free end with the least distance in time. In: a match. Out: pairs by start. No state. */
#include <stdlib.h>

#include "correlate/match.h"

/*
 * The ends in order. after[i] and before[i] lead to the closest free place at or behind, at or before i; both are shortened while they
 * are followed, so that a run of taken ends is crossed once. Places are shifted by one: 0 means "none before", n + 1 "none behind".
 */
struct ends {
	uint32_t n;
	uint32_t *event, *after, *before;
};

static unsigned rank(const struct xp_endpoint *start, const struct xp_endpoint *end)
{
	return XP_RANK_NEAREST;
}

static const char *method(const struct xp_endpoint *start)
{
	return "nearest";
}

static uint32_t follow(uint32_t *link, uint32_t place)
{
	while (link[place] != place) {
		link[place] = link[link[place]];
		place = link[place];
	}
	return place;
}

static void take(struct ends *ends, uint32_t place)
{
	ends->after[place] = place + 1;
	ends->before[place] = place - 1;
}

static bool ends_init(const struct xp_match *match, struct ends *ends)
{
	for (uint32_t i = 0; i < match->n; i++)
		ends->n += xp_match_is_end(match, i);
	size_t places = (size_t)ends->n + 2;
	ends->event = malloc(places * sizeof(uint32_t));
	ends->after = malloc(places * sizeof(uint32_t));
	ends->before = malloc(places * sizeof(uint32_t));
	if (!ends->event || !ends->after || !ends->before)
		return false;
	for (uint32_t i = 0, place = 1; i < match->n; i++)
		if (xp_match_is_end(match, i))
			ends->event[place++] = i;
	for (uint32_t place = 0; place < places; place++)
		ends->after[place] = ends->before[place] = place;
	return true;
}

static void ends_done(struct ends *ends)
{
	free(ends->event);
	free(ends->after);
	free(ends->before);
}

/* The first place whose end is at `t_ns` or later; n + 1 when there is none. */
static uint32_t place_at(const struct xp_match *match, const struct ends *ends, uint64_t t_ns)
{
	uint32_t low = 1, high = ends->n + 1;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (match->events[ends->event[middle]].t_ns < t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The free end before `at` that is closest in time; of several at one timestamp the first. 0: none. */
static uint32_t best_before(const struct xp_match *match, struct ends *ends, uint32_t at)
{
	uint32_t last = follow(ends->before, at - 1);

	if (!last)
		return 0;
	return follow(ends->after, place_at(match, ends, match->events[ends->event[last]].t_ns));
}

static uint32_t best_place(const struct xp_match *match, struct ends *ends, uint32_t start, uint32_t *io_behind)
{
	const struct xp_event *events = match->events;
	uint64_t t_ns = events[start].t_ns;
	uint32_t none = ends->n + 1;

	while (*io_behind < none && ends->event[*io_behind] <= start)
		++*io_behind;
	if (xp_match_is_end(match, start)) /* an event that both selectors picked looks only ahead (contract 9, last sentence) */
		return follow(ends->after, *io_behind);

	uint32_t at = place_at(match, ends, t_ns), later = follow(ends->after, at), sooner = best_before(match, ends, at);
	if (!sooner)
		return later;
	if (later == none)
		return sooner;
	return events[ends->event[later]].t_ns - t_ns <= t_ns - events[ends->event[sooner]].t_ns ? later : sooner;
}

static bool pair_all(struct xp_match *match, struct ends *ends)
{
	uint32_t behind = 1;

	for (uint32_t i = 0; i < match->n; i++) {
		if (!xp_match_is_start(match, i))
			continue;
		uint32_t place = best_place(match, ends, i, &behind);

		if (place == ends->n + 1) {
			xp_match_mark(match, i, XP_MARK_UNMATCHED_START);
			continue;
		}
		take(ends, place);
		if (!xp_match_pair(match, i, ends->event[place]))
			return false;
	}
	for (uint32_t place = 1; place <= ends->n; place++)
		if (ends->after[place] == place)
			xp_match_mark(match, ends->event[place], XP_MARK_UNMATCHED_END);
	return true;
}

static bool run(struct xp_match *match)
{
	struct ends ends = { 0 };
	bool ok = ends_init(match, &ends) && pair_all(match, &ends);

	ends_done(&ends);
	return ok;
}

const struct xp_policy xp_policy_nearest = {
	.name = "nearest",
	.reason = "temporal_order_only",
	.confidence = XP_CONF_HEURISTIC,
	.rank = rank,
	.method = method,
	.run = run,
};
