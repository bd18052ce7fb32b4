/* SPDX-License-Identifier: Apache-2.0 */
/* One measurement's pairs and counts. In: a sorted store and a request. Out: struct xp_pairs. No state. */
#include "correlate/correlate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "correlate/match.h"

const char *const xp_confidence_names[XP_CONF_COUNT] = {
	[XP_CONF_EXACT] = "exact",
	[XP_CONF_HIGH] = "high",
	[XP_CONF_HEURISTIC] = "heuristic",
	[XP_CONF_AMBIGUOUS] = "ambiguous",
};

const char *const xp_alignment_names[XP_ALIGN_COUNT] = {
	[XP_ALIGN_HOST] = "host_monotonic",
	[XP_ALIGN_CUPTI] = "cupti_same_domain",
	[XP_ALIGN_NORMALIZED] = "cupti_normalized_to_host_monotonic",
};

void xp_pairs_done(struct xp_pairs *pairs)
{
	free(pairs->at);
	memset(pairs, 0, sizeof(*pairs));
}

struct xp_opt_u64 xp_correlate_last_ns(struct xp_store *store, uint32_t bits, uint64_t duration_ms)
{
	const struct xp_event *events = xp_store_events(store);
	uint64_t n = xp_store_count(store);
	struct xp_opt_u64 last = { 0 };

	for (uint64_t i = 0; i < n && !last.set; i++) {
		if (!(events[i].endpoints & bits) || events[i].flags & XP_EVF_INVALID_TIME)
			continue;
		last.set = true;
		if (__builtin_mul_overflow(duration_ms, 1000000u, &last.v) || __builtin_add_overflow(last.v, events[i].t_ns, &last.v))
			last.v = UINT64_MAX;
	}
	return last;
}

/* Number of leading events that are not later than last_ns. */
static uint32_t events_until(const struct xp_event *events, uint64_t n, struct xp_opt_u64 last_ns)
{
	uint64_t low = 0, high = n;

	while (last_ns.set && low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (events[middle].t_ns <= last_ns.v)
			low = middle + 1;
		else
			high = middle;
	}
	return (uint32_t)high;
}

/* Which clocks the selected events are in. */
struct clocks {
	bool start[XP_CLOCK_COUNT], end[XP_CLOCK_COUNT];
};

/* Times of the host and times converted to it can be subtracted; raw CUPTI times only from each other. */
static bool comparable(unsigned a, unsigned b)
{
	return (a == XP_CLOCK_CUPTI) == (b == XP_CLOCK_CUPTI);
}

/* The one pass over all events that every policy needs. False: out of memory. */
static bool look(struct xp_match *match, struct xp_pairs *pairs, struct clocks *ret_clocks)
{
	for (uint32_t i = 0; i < match->n; i++) {
		unsigned clock = match->events[i].clock;
		bool start = xp_match_is_start(match, i), end = xp_match_is_end(match, i);

		pairs->start_events += start;
		pairs->end_events += end;
		ret_clocks->start[clock] |= start;
		ret_clocks->end[clock] |= end;
		if (!xp_identity_see(&match->identity, match->store, &match->events[i]))
			return false;
		pairs->launch_unknown |= (start || end) && match->events[i].flags & XP_EVF_LAUNCH_UNKNOWN;
	}
	xp_identity_join(&match->identity);
	return true;
}

static int fail_clocks(struct xp_err *reterr, unsigned start, unsigned end)
{
	int r = xp_fail(reterr, XP_E_CLOCK_ALIGNMENT_FAILED, "times in the clocks %s and %s cannot be subtracted",
			xp_clock_domain_names[start], xp_clock_domain_names[end]);

	xp_err_detail(reterr, "start_clock", xp_json_text(xp_clock_domain_names[start]));
	xp_err_detail(reterr, "end_clock", xp_json_text(xp_clock_domain_names[end]));
	return r;
}

static int check_clocks(const struct clocks *clocks, enum xp_alignment *ret_alignment, struct xp_err *reterr)
{
	const bool *start = clocks->start, *end = clocks->end;
	bool any[XP_CLOCK_COUNT];

	for (unsigned a = 0; a < XP_CLOCK_COUNT; a++)
		for (unsigned b = 0; b < XP_CLOCK_COUNT; b++)
			if (start[a] && end[b] && !comparable(a, b))
				return fail_clocks(reterr, a, b);
	for (unsigned a = 0; a < XP_CLOCK_COUNT; a++) /* one side is in two clocks, the other is silent */
		for (unsigned b = a + 1; b < XP_CLOCK_COUNT; b++)
			if (((start[a] && start[b]) || (end[a] && end[b])) && !comparable(a, b))
				return fail_clocks(reterr, a, b);
	for (unsigned a = 0; a < XP_CLOCK_COUNT; a++)
		any[a] = start[a] || end[a];
	*ret_alignment = any[XP_CLOCK_CUPTI_NORMALIZED] ? XP_ALIGN_NORMALIZED : any[XP_CLOCK_CUPTI] ? XP_ALIGN_CUPTI : XP_ALIGN_HOST;
	return 0;
}

static int by_start(const void *left, const void *right)
{
	const struct xp_pair *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

static void sort_pairs(struct xp_match *match)
{
	bool sorted = true;

	for (uint64_t i = 1; i < match->n_pairs && sorted; i++)
		sorted = by_start(&match->pairs[i - 1], &match->pairs[i]) < 0;
	if (!sorted)
		qsort(match->pairs, match->n_pairs, sizeof(*match->pairs), by_start);
}

/* The marks that lie not behind both events of the last kept pair. A launch counts as one-to-many with the pairs that it kept. */
static void count(const struct xp_match *match, uint64_t samples, struct xp_pairs *pairs)
{
	uint32_t seen = match->n, starts_seen = match->n;

	pairs->n = match->n_pairs;
	if (samples && match->n_pairs >= samples) {
		const struct xp_pair *last = &match->pairs[samples - 1];

		pairs->n = samples;
		starts_seen = last->start + 1;
		seen = (last->end > last->start ? last->end : last->start) + 1;
	}
	for (uint32_t i = 0; i < seen; i++) {
		uint8_t mark = match->marks[i];

		if (!mark)
			continue;
		pairs->unmatched_start += !!(mark & XP_MARK_UNMATCHED_START);
		pairs->unmatched_end += !!(mark & XP_MARK_UNMATCHED_END);
		pairs->ambiguous += !!(mark & XP_MARK_AMBIGUOUS);
		pairs->one_to_many += mark & XP_MARK_ONE_TO_MANY && i < starts_seen;
	}
	for (uint32_t i = 0; i < match->n_early; i++)
		pairs->within_clock_error += match->early[i] < seen;
}

static void match_done(struct xp_match *match)
{
	xp_identity_done(&match->identity);
	free(match->marks);
	free(match->pairs);
	free(match->early);
}

/* False: out of memory. */
static bool run_policy(const struct xp_policy *policy, struct xp_match *match)
{
	match->marks = calloc((size_t)match->n + 1, 1);
	if (!match->marks || !policy->run(match))
		return false;
	sort_pairs(match);
	return true;
}

static int out_of_memory(const struct xp_match *match, struct xp_err *reterr)
{
	return xp_fail_sys(reterr, ENOMEM, "malloc", "correlation of %u events", match->n);
}

int xp_correlate(struct xp_store *store, const struct xp_correlate_request *request, struct xp_pairs *ret_pairs, struct xp_err *reterr)
{
	const struct xp_policy *policy = xp_policy_at(request->policy);
	struct xp_pairs pairs = { .method = policy->method(request->start), .confidence = policy->confidence };
	struct clocks clocks = { 0 };
	__attribute__((cleanup(match_done))) struct xp_match match = {
		.store = store,
		.events = xp_store_events(store),
		.start_bit = request->start_bit,
		.end_bit = request->end_bit,
		.start = request->start,
		.end = request->end,
	};

	match.n = events_until(match.events, xp_store_count(store), request->last_ns);
	if (!look(&match, &pairs, &clocks))
		return out_of_memory(&match, reterr);
	int r = check_clocks(&clocks, &pairs.alignment, reterr);
	if (r)
		return r;
	if (!run_policy(policy, &match))
		return out_of_memory(&match, reterr);
	count(&match, request->samples, &pairs);
	pairs.at = xp_steal(&match.pairs);
	pairs.nested_too_deep = match.nested_too_deep;
	if (pairs.ambiguous > pairs.n)
		pairs.confidence = XP_CONF_AMBIGUOUS;
	*ret_pairs = pairs;
	return 0;
}
