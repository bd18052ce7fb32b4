/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many pairs every edge surely has, while the window is open: a count from below by key and time, made only when it could be enough.
 * In: the events of the store. Out: whether the samples bound is met. The correlator counts again at the end.
 */
#include <stdlib.h>

#include "collect/agent_exact_priv.h"
#include "collect/window_priv.h"

enum { COUNT_EACH_MS = 100 };

struct moment {
	uint64_t key, t_ns;
	bool end;
};

static int by_key_and_time(const void *left, const void *right)
{
	const struct moment *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->t_ns != b->t_ns)
		return a->t_ns < b->t_ns ? -1 : 1;
	return (int)a->end - (int)b->end;
}

static uint64_t range_key(const struct xp_agent_exact *exact, const struct xp_event *event)
{
	const struct xp_event_detail *detail = xp_store_detail(exact->store, event);

	return detail ? xp_hash_mix(detail->nvtx.range_id) ^ detail->nvtx.process_range : 0;
}

/* What the events of a pair share. */
static uint64_t key_of(const struct xp_agent_exact *exact, enum xp_policy_id policy, const struct xp_event *event)
{
	if (policy == XP_POLICY_EXACT)
		return event->type == XP_EV_NVTX_RANGE_START || event->type == XP_EV_NVTX_RANGE_END ? range_key(exact, event)
												    : event->gpu.correlation;
	if (policy == XP_POLICY_STREAM_ORDER)
		return xp_hash_mix((uint64_t)event->gpu.device << 32 | event->gpu.context) ^ event->gpu.stream;
	return 0;
}

/* Each end takes one start before it: no policy pairs fewer of these. */
static uint64_t count_pairs(const struct moment *moments, size_t n)
{
	uint64_t pairs = 0, waiting = 0;

	for (size_t i = 0; i < n; i++) {
		if (i && moments[i].key != moments[i - 1].key)
			waiting = 0;
		if (!moments[i].end)
			waiting++;
		else if (waiting) {
			waiting--;
			pairs++;
		}
	}
	return pairs;
}

static uint64_t count_edge(const struct xp_agent_exact *exact, const struct xp_edge *edge)
{
	const struct xp_event *events = xp_store_events(exact->store);
	uint32_t start = 1u << edge->start, end = 1u << edge->end;
	uint64_t n = xp_store_count(exact->store);
	size_t used = 0;
	xp_auto(xp_free) void *block = calloc(n ? n : 1, sizeof(struct moment));
	struct moment *moments = block;

	for (uint64_t i = 0; moments && i < n; i++)
		if (events[i].endpoints & (start | end))
			moments[used++] =
				(struct moment){ key_of(exact, edge->policy, &events[i]), events[i].t_ns, !(events[i].endpoints & start) };
	if (used)
		qsort(moments, used, sizeof(*moments), by_key_and_time);
	return count_pairs(moments, used);
}

/* An edge of host endpoints alone is counted by the host's capture, event by event. */
static bool host_alone(const struct xp_agent_exact *exact, const struct xp_edge *edge)
{
	return exact->host && !xp_agent_serves(&exact->plan->endpoints[edge->start]) &&
	       !xp_agent_serves(&exact->plan->endpoints[edge->end]);
}

static void scan(struct xp_agent_exact *exact)
{
	const struct xp_event *events = xp_store_events(exact->store);

	for (; exact->scanned < xp_store_count(exact->store); exact->scanned++)
		for (unsigned i = 0; i < exact->plan->n_edges; i++) {
			exact->edges[i].starts += events[exact->scanned].endpoints >> exact->plan->edges[i].start & 1;
			exact->edges[i].ends += events[exact->scanned].endpoints >> exact->plan->edges[i].end & 1;
		}
}

static bool edge_has(struct xp_agent_exact *exact, unsigned i, uint64_t wanted)
{
	const struct xp_edge *edge = &exact->plan->edges[i];
	struct xp_agent_edge *count = &exact->edges[i];

	if (host_alone(exact, edge))
		return exact->host->counters[i].pairs >= wanted;
	/* One launch of a graph pairs with many kernels, but one kernel with no two launches. */
	if (!count->starts || count->ends < wanted || (count->starts < wanted && edge->policy != XP_POLICY_EXACT))
		return false;
	if (count->pairs < wanted && count->counted != exact->scanned) {
		count->pairs = count_edge(exact, edge);
		count->counted = exact->scanned;
	}
	return count->pairs >= wanted;
}

bool xp_agent_has_samples(struct xp_agent_exact *exact, uint64_t now_ns)
{
	const struct xp_plan *plan = exact->plan;

	if (!plan->bounds.samples.set || !plan->n_edges || now_ns < exact->next_count_ns)
		return false;
	exact->next_count_ns = now_ns + COUNT_EACH_MS * XP_NS_PER_MS;
	scan(exact);
	for (unsigned i = 0; i < plan->n_edges; i++)
		if (!edge_has(exact, i, plan->bounds.samples.v))
			return false;
	return true;
}
