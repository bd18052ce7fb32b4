/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that the policies share: pairing in order, and splitting the events by key. In: a match. Out: pairs and marks. No state. */
#include "correlate/match.h"

#include <stdlib.h>

#include "correlate/keys.h"

bool xp_match_pair(struct xp_match *match, uint32_t start, uint32_t end)
{
	if (match->n_pairs == match->cap_pairs) {
		uint64_t cap = match->cap_pairs ? match->cap_pairs + match->cap_pairs / 2 : 1024;
		struct xp_pair *pairs = realloc(match->pairs, cap * sizeof(*pairs));

		if (!pairs)
			return false;
		match->pairs = pairs;
		match->cap_pairs = cap;
	}
	match->pairs[match->n_pairs++] = (struct xp_pair){ start, end };
	return true;
}

bool xp_match_early(struct xp_match *match, uint32_t launch)
{
	if (match->n_early == match->cap_early) {
		uint32_t cap = match->cap_early ? match->cap_early + match->cap_early / 2 : 64;
		uint32_t *early = realloc(match->early, cap * sizeof(*early));

		if (!early)
			return false;
		match->early = early;
		match->cap_early = cap;
	}
	match->early[match->n_early++] = launch;
	return true;
}

void xp_match_leave(struct xp_match *match, uint32_t event)
{
	if (xp_match_is_start(match, event))
		xp_match_mark(match, event, XP_MARK_UNMATCHED_START);
	if (xp_match_is_end(match, event))
		xp_match_mark(match, event, XP_MARK_UNMATCHED_END);
}

static uint32_t event_at(const uint32_t *member, uint32_t place)
{
	return member ? member[place] : place;
}

/* The first place from `place` on that holds an end; n when there is none. */
static uint32_t end_from(const struct xp_match *match, const uint32_t *member, uint32_t n, uint32_t place)
{
	while (place < n && !xp_match_is_end(match, event_at(member, place)))
		place++;
	return place;
}

bool xp_match_in_order(struct xp_match *match, const uint32_t *member, uint32_t n)
{
	uint32_t next = end_from(match, member, n, 0);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t start = event_at(member, i);

		if (!xp_match_is_start(match, start))
			continue;
		for (; next < n && event_at(member, next) <= start; next = end_from(match, member, n, next + 1))
			xp_match_mark(match, event_at(member, next), XP_MARK_UNMATCHED_END);
		if (next == n) {
			xp_match_mark(match, start, XP_MARK_UNMATCHED_START);
			continue;
		}
		if (!xp_match_pair(match, start, event_at(member, next)))
			return false;
		next = end_from(match, member, n, next + 1);
	}
	for (; next < n; next = end_from(match, member, n, next + 1))
		xp_match_mark(match, event_at(member, next), XP_MARK_UNMATCHED_END);
	return true;
}

/* Which group each event belongs to, XP_KEY_ABSENT for none, and where each group begins once its events lie side by side. */
struct split {
	uint32_t *group_of, *begin, *member;
	uint32_t n_groups;
};

static void split_done(struct split *split)
{
	free(split->group_of);
	free(split->begin);
	free(split->member);
}

static bool number_groups(struct xp_match *match, const struct xp_grouping *grouping, struct split *split)
{
	struct xp_keys keys = { 0 };
	bool ok = true;

	for (uint32_t i = 0; i < match->n && ok; i++) {
		struct xp_key key = { { 0, 0, 0 } };
		enum xp_keyed keyed = grouping->key(match, i, grouping->arg, &key);

		split->group_of[i] = XP_KEY_ABSENT;
		if (keyed == XP_KEY_MISSING)
			xp_match_leave(match, i);
		if (keyed != XP_KEY_SET)
			continue;
		split->group_of[i] = xp_keys_add(&keys, &key);
		ok = split->group_of[i] != XP_KEY_ABSENT;
	}
	split->n_groups = keys.n;
	xp_keys_done(&keys);
	return ok;
}

/* Counting sort by group; events of one group keep their order. begin[g] is moved to the end of group g while it fills. */
static bool place_members(const struct xp_match *match, struct split *split)
{
	split->begin = calloc((size_t)split->n_groups + 1, sizeof(*split->begin));
	if (!split->begin)
		return false;
	for (uint32_t i = 0; i < match->n; i++)
		if (split->group_of[i] != XP_KEY_ABSENT)
			split->begin[split->group_of[i]]++;
	uint32_t total = 0;
	for (uint32_t g = 0; g <= split->n_groups; g++) {
		uint32_t size = split->begin[g];

		split->begin[g] = total;
		total += size;
	}
	split->member = malloc(((size_t)total + 1) * sizeof(*split->member));
	if (!split->member)
		return false;
	for (uint32_t i = 0; i < match->n; i++)
		if (split->group_of[i] != XP_KEY_ABSENT)
			split->member[split->begin[split->group_of[i]]++] = i;
	free(xp_steal(&split->group_of));
	return true;
}

bool xp_match_by_key(struct xp_match *match, const struct xp_grouping *grouping)
{
	struct split split = { .group_of = malloc(((size_t)match->n + 1) * sizeof(uint32_t)) };
	bool ok = split.group_of && number_groups(match, grouping, &split) && place_members(match, &split);
	uint32_t from = 0;

	for (uint32_t g = 0; g < split.n_groups && ok; g++) {
		ok = grouping->group(match, split.member + from, split.begin[g] - from, grouping->arg);
		from = split.begin[g];
	}
	split_done(&split);
	return ok;
}
