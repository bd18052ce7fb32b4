/* SPDX-License-Identifier: Apache-2.0 */
/* exact by CUPTI correlation id (contract 9, 9.1 rule 6). In: a match. Out: pairs. No state. */
#include <stdlib.h>

#include "correlate/activity.h"
#include "correlate/exact.h"

enum { KEY_GRAPH_NODE = 1, KEY_NO_CONTEXT = 2 };

struct cuda {
	bool activities; /* both endpoints: graph nodes are part of the key */
	bool launches;	 /* API -> activity */
	const struct xp_contexts *contexts;
};

static uint64_t node_of(const struct xp_match *match, uint32_t event)
{
	const struct xp_event_detail *detail = xp_store_detail(match->store, &match->events[event]);

	return detail ? detail->gpu.node : 0;
}

/* Fills the context's part of the key. */
static enum xp_keyed context_key(const struct xp_match *match, uint32_t event, const struct cuda *cuda, uint64_t *ret_kind,
				 uint64_t *ret_context)
{
	const struct xp_event *e = &match->events[event];
	uint32_t adopted = 0;

	if (!(e->flags & XP_EVF_NO_CONTEXT)) {
		*ret_context = e->gpu.context;
		return XP_KEY_SET;
	}
	if (!xp_is_api(e->type))
		return XP_KEY_MISSING;
	switch (xp_contexts_of(cuda->contexts, event, &adopted)) {
	case XP_CONTEXT_ONE:
		*ret_context = adopted;
		return XP_KEY_SET;
	case XP_CONTEXT_NO_ACTIVITY:
		*ret_kind |= KEY_NO_CONTEXT;
		return XP_KEY_SET;
	case XP_CONTEXT_SEVERAL:
		break;
	}
	return XP_KEY_MISSING;
}

static enum xp_keyed correlation_key(const struct xp_match *match, uint32_t event, void *arg, struct xp_key *ret_key)
{
	const struct xp_event *e = &match->events[event];
	const struct cuda *cuda = arg;
	uint64_t kind = 0, context = 0;

	if (!xp_match_is_start(match, event) && !xp_match_is_end(match, event))
		return XP_KEY_NONE;
	if (e->flags & XP_EVF_NO_CORRELATION || e->gpu.correlation == XP_ID_UNKNOWN)
		return XP_KEY_MISSING;
	if (cuda->launches && e->flags & XP_EVF_LAUNCH_UNKNOWN)
		return XP_KEY_MISSING;
	if (context_key(match, event, cuda, &kind, &context) != XP_KEY_SET)
		return XP_KEY_MISSING;
	if (cuda->activities && e->flags & XP_EVF_GRAPH_NODE) {
		kind |= KEY_GRAPH_NODE;
		ret_key->part[2] = node_of(match, event);
	}
	ret_key->part[0] = xp_match_identity(match, event) << 8 | kind;
	ret_key->part[1] = context << 32 | e->gpu.correlation;
	return XP_KEY_SET;
}

/* The activity seems to begin before its launch, by no more than its clock may be off. */
static bool within_clock_error(const struct xp_event *api, const struct xp_event *activity)
{
	uint64_t error_ns = api->error_ns > activity->error_ns ? api->error_ns : activity->error_ns;

	return api->t_ns > activity->t_ns && error_ns != XP_ERROR_UNKNOWN && api->t_ns - activity->t_ns <= error_ns;
}

/* Pairs, or leaves the end, and the start too when it has nothing else. */
static bool pair_or_leave(struct xp_match *match, const struct cuda *cuda, uint32_t start, uint32_t end, bool start_alone)
{
	if (end > start)
		return xp_match_pair(match, start, end);
	xp_match_mark(match, end, XP_MARK_UNMATCHED_END);
	if (start_alone)
		xp_match_mark(match, start, XP_MARK_UNMATCHED_START);
	if (cuda->launches && within_clock_error(&match->events[start], &match->events[end]))
		return xp_match_early(match, start);
	return true;
}

/* The first member from `i` on in the wanted role; n when there is none. */
static uint32_t next_of(const struct xp_match *match, const uint32_t *member, uint32_t n, uint32_t i, bool start)
{
	while (i < n && !(start ? xp_match_is_start(match, member[i]) : xp_match_is_end(match, member[i])))
		i++;
	return i;
}

/* k-th start with k-th end; where one side has more, each unit of the larger count lies where the first of its two events does. */
static bool pair_in_turn(struct xp_match *match, const uint32_t *member, uint32_t n, const struct cuda *cuda, bool equal)
{
	uint32_t s = next_of(match, member, n, 0, true), e = next_of(match, member, n, 0, false);

	while (s < n || e < n) {
		if (!equal)
			xp_match_mark(match, member[s < e ? s : e], XP_MARK_AMBIGUOUS);
		else if (!pair_or_leave(match, cuda, member[s], member[e], true))
			return false;
		s = s < n ? next_of(match, member, n, s + 1, true) : n;
		e = e < n ? next_of(match, member, n, e + 1, false) : n;
	}
	return true;
}

static int by_value(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* One graph launch and activities of as many different nodes. */
static bool is_graph_launch(const struct xp_match *match, const uint32_t *member, uint32_t n, uint32_t launch, bool *ret_is)
{
	uint64_t *nodes = malloc(n * sizeof(*nodes));
	uint32_t n_nodes = 0;

	if (!nodes)
		return false;
	*ret_is = match->events[launch].flags & XP_EVF_GRAPH_LAUNCH;
	for (uint32_t i = 0; i < n && *ret_is; i++) {
		if (!xp_match_is_end(match, member[i]))
			continue;
		*ret_is = match->events[member[i]].flags & XP_EVF_GRAPH_NODE;
		nodes[n_nodes++] = node_of(match, member[i]);
	}
	qsort(nodes, n_nodes, sizeof(*nodes), by_value);
	for (uint32_t i = 1; i < n_nodes && *ret_is; i++)
		*ret_is = nodes[i] != nodes[i - 1];
	free(nodes);
	return true;
}

static bool pair_graph(struct xp_match *match, const uint32_t *member, uint32_t n, const struct cuda *cuda, uint32_t launch)
{
	uint64_t before = match->n_pairs;

	for (uint32_t i = next_of(match, member, n, 0, false); i < n; i = next_of(match, member, n, i + 1, false))
		if (!pair_or_leave(match, cuda, launch, member[i], false))
			return false;
	if (match->n_pairs == before)
		xp_match_mark(match, launch, XP_MARK_UNMATCHED_START);
	if (match->n_pairs - before > 1)
		xp_match_mark(match, launch, XP_MARK_ONE_TO_MANY);
	return true;
}

static bool pair_correlated(struct xp_match *match, uint32_t *member, uint32_t n, void *arg)
{
	const struct cuda *cuda = arg;
	uint32_t starts = 0, ends = 0;
	bool graph = false;

	for (uint32_t i = 0; i < n; i++) {
		starts += xp_match_is_start(match, member[i]);
		ends += xp_match_is_end(match, member[i]);
	}
	if (!starts || !ends) {
		for (uint32_t i = 0; i < n; i++)
			xp_match_leave(match, member[i]);
		return true;
	}
	if (cuda->launches && starts == 1 && ends > 1) {
		uint32_t launch = member[next_of(match, member, n, 0, true)];

		if (!is_graph_launch(match, member, n, launch, &graph))
			return false;
		if (graph)
			return pair_graph(match, member, n, cuda, launch);
	}
	return pair_in_turn(match, member, n, cuda, starts == ends);
}

bool xp_exact_cuda(struct xp_match *match)
{
	bool ok, api_start = xp_is_api(match->start->type), api_end = xp_is_api(match->end->type);
	struct xp_contexts *contexts = xp_contexts_new(match, &ok);
	struct cuda cuda = { .activities = !api_start && !api_end, .launches = api_start && !api_end, .contexts = contexts };
	struct xp_grouping by_correlation = { .key = correlation_key, .group = pair_correlated, .arg = &cuda };

	ok = ok && xp_match_by_key(match, &by_correlation);
	xp_contexts_free(contexts);
	return ok;
}
