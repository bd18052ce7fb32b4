/* SPDX-License-Identifier: Apache-2.0 */
/* Life cycles with one pending start a key: garbage collections by thread, NVTX ranges by range. In: a match. Out: pairs. No state. */
#include "correlate/exact.h"

/* A start while one is pending replaces it; the old one is ambiguous. */
static bool pair_life(struct xp_match *match, uint32_t *member, uint32_t n, void *arg)
{
	uint32_t pending = 0;
	bool open = false;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t event = member[i];

		if (xp_match_is_end(match, event)) {
			if (!open)
				xp_match_mark(match, event, XP_MARK_UNMATCHED_END);
			else if (!xp_match_pair(match, pending, event))
				return false;
			open = false;
		}
		if (xp_match_is_start(match, event)) {
			if (open)
				xp_match_mark(match, pending, XP_MARK_AMBIGUOUS);
			pending = event;
			open = true;
		}
	}
	if (open)
		xp_match_mark(match, pending, XP_MARK_UNMATCHED_START);
	return true;
}

static enum xp_keyed thread_key(const struct xp_match *match, uint32_t event, void *arg, struct xp_key *ret_key)
{
	if (!xp_match_is_start(match, event) && !xp_match_is_end(match, event))
		return XP_KEY_NONE;
	ret_key->part[0] = xp_match_identity(match, event);
	ret_key->part[1] = match->events[event].tid;
	return XP_KEY_SET;
}

static enum xp_keyed range_key(const struct xp_match *match, uint32_t event, void *arg, struct xp_key *ret_key)
{
	if (!xp_match_is_start(match, event) && !xp_match_is_end(match, event))
		return XP_KEY_NONE;
	const struct xp_event_detail *detail = xp_store_detail(match->store, &match->events[event]);
	if (!detail)
		return XP_KEY_MISSING;
	ret_key->part[0] = xp_match_identity(match, event);
	ret_key->part[1] = detail->nvtx.process_range;
	ret_key->part[2] = detail->nvtx.range_id;
	return XP_KEY_SET;
}

bool xp_exact_thread(struct xp_match *match)
{
	struct xp_grouping by_thread = { .key = thread_key, .group = pair_life };

	return xp_match_by_key(match, &by_thread);
}

bool xp_exact_range(struct xp_match *match)
{
	struct xp_grouping by_range = { .key = range_key, .group = pair_life };

	return xp_match_by_key(match, &by_range);
}
