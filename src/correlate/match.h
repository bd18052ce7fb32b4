/* SPDX-License-Identifier: Apache-2.0 */
/* What a policy works on: the events of the bound in order, a mark byte for each, and the pairs found so far. */
#ifndef XP_CORRELATE_MATCH_H
#define XP_CORRELATE_MATCH_H

#include "correlate/correlate.h"
#include "correlate/identity.h"

/* What an event counts as when it is not (only) part of a pair. Marks behind a samples cut do not count. */
enum xp_mark {
	XP_MARK_UNMATCHED_START = 1,
	XP_MARK_UNMATCHED_END = 2,
	XP_MARK_AMBIGUOUS = 4,
	XP_MARK_ONE_TO_MANY = 8,
};

struct xp_match {
	struct xp_store *store;
	const struct xp_event *events; /* in order (t_ns, sequence): an index is a place in that order */
	uint32_t n;
	uint32_t start_bit, end_bit;
	const struct xp_endpoint *start, *end;
	struct xp_identity identity;
	uint8_t *marks; /* enum xp_mark bits, one byte an event */
	struct xp_pair *pairs;
	uint64_t n_pairs, cap_pairs;
	uint32_t *early; /* where activities that seem to begin before their launch are complete: the later of the two */
	uint32_t n_early, cap_early;
	bool nested_too_deep;
};

static inline bool xp_match_is_start(const struct xp_match *match, uint32_t event)
{
	return match->events[event].endpoints & match->start_bit && !(match->events[event].flags & XP_EVF_INVALID_TIME);
}

static inline bool xp_match_is_end(const struct xp_match *match, uint32_t event)
{
	return match->events[event].endpoints & match->end_bit && !(match->events[event].flags & XP_EVF_INVALID_TIME);
}

static inline uint64_t xp_match_identity(const struct xp_match *match, uint32_t event)
{
	return match->identity.at[match->events[event].process].counts_as;
}

/* False: out of memory. */
bool xp_match_pair(struct xp_match *match, uint32_t start, uint32_t end);
bool xp_match_early(struct xp_match *match, uint32_t launch);
/* Marks the event for each role it was selected in. */
void xp_match_leave(struct xp_match *match, uint32_t event);
static inline void xp_match_mark(struct xp_match *match, uint32_t event, enum xp_mark mark)
{
	match->marks[event] |= (uint8_t)mark;
}

/*
 * Both in time order: the first end behind a start pairs with it, ends before it are left over (contract 9 first_after and
 * stream_order). `member` lists n events; NULL: all n of the match.
 */
bool xp_match_in_order(struct xp_match *match, const uint32_t *member, uint32_t n);

/* What two events must share to be looked at together. */
struct xp_key {
	uint64_t part[3];
};
enum xp_keyed {
	XP_KEY_NONE,	/* takes no part at all */
	XP_KEY_MISSING, /* selected, but without the ids: left over */
	XP_KEY_SET,
};

struct xp_grouping {
	enum xp_keyed (*key)(const struct xp_match *match, uint32_t event, void *arg, struct xp_key *ret_key);
	/* The events of one group in order. It may overwrite member[0..i] once it has read member[i]. False: out of memory. */
	bool (*group)(struct xp_match *match, uint32_t *member, uint32_t n, void *arg);
	void *arg;
};
/* Runs `group` once for each key. Linear in the events; 4 B of state an event and 24 to 32 B a group while it runs. */
bool xp_match_by_key(struct xp_match *match, const struct xp_grouping *grouping);

#endif
