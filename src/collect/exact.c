/* SPDX-License-Identifier: Apache-2.0 */
/* The exact host capture as a collector. In: a plan. Out: a store of events and accounts. Owns the engine, the store, the pair counters. */
#include <errno.h>
#include <stdlib.h>

#include "collect/exact_priv.h"

/* Names read in one drain: two small files each, so that a burst of new threads does not hold up the ring. */
enum { NAMES_A_DRAIN = 32 };

static int prepare(void *state, struct xp_err *reterr)
{
	struct xp_exact *exact = state;
	const struct xp_probe_request request = {
		.points = exact->points,
		.n_points = exact->n_points,
		.pid = xp_target_pid(exact->plan->target),
		.follow_restarts = exact->plan->follow_restarts,
		.ring_bytes = exact->plan->test_ring_bytes,
	};

	return xp_probes_new(&request, &exact->probes, reterr);
}

static int arm(void *state, struct xp_err *reterr)
{
	return xp_probes_attach(((struct xp_exact *)state)->probes, reterr);
}

static int open_window(void *state, uint64_t start_ns, struct xp_err *reterr)
{
	xp_probes_switch(((struct xp_exact *)state)->probes, true);
	return 0;
}

static int read_ring(struct xp_exact *exact, struct xp_err *reterr)
{
	const struct xp_probe_reader reader = { .take = xp_exact_take, .arg = exact };
	size_t from = xp_store_count(exact->store);
	int r = xp_probes_read(exact->probes, &reader, reterr);

	for (unsigned i = 0; i < exact->plan->n_edges; i++)
		xp_pair_counter_take_batch(&exact->counters[i], xp_store_events(exact->store), from, xp_store_count(exact->store));
	return r;
}

static int drain(void *state, struct xp_err *reterr)
{
	struct xp_exact *exact = state;
	int r = read_ring(exact, reterr);

	xp_exact_threads_read(&exact->threads, exact->plan->target, exact->store, NAMES_A_DRAIN);
	return r;
}

static void close_window(void *state, uint64_t end_ns)
{
	xp_probes_switch(((struct xp_exact *)state)->probes, false);
}

/* Names first: detaching takes a while, and threads go on ending. */
static int disarm(void *state, struct xp_err *reterr)
{
	struct xp_exact *exact = state;

	xp_probes_switch(exact->probes, false);
	int r = read_ring(exact, reterr);

	xp_exact_threads_read(&exact->threads, exact->plan->target, exact->store, SIZE_MAX);
	xp_probes_detach(exact->probes);
	if (!r)
		r = read_ring(exact, reterr);
	if (!r)
		r = xp_probes_count(exact->probes, &exact->counts, reterr);
	return r ? r : xp_probes_verify(exact->probes, reterr);
}

static bool has_samples(const struct xp_exact *exact)
{
	const struct xp_plan *plan = exact->plan;

	if (!plan->bounds.samples.set || !plan->n_edges)
		return false;
	for (unsigned i = 0; i < plan->n_edges; i++)
		if (exact->counters[i].pairs < plan->bounds.samples.v)
			return false;
	return true;
}

static int want_end(void *state)
{
	const struct xp_exact *exact = state;

	if (has_samples(exact))
		return XP_END_SAMPLES;
	return exact->full ? XP_END_CAPACITY : -1;
}

/* Counters that cannot be read leave the last figures standing; the account is checked at the end. */
static void cost(void *state, uint64_t *ret_ns, uint64_t *ret_events)
{
	struct xp_exact *exact = state;
	xp_auto_err unread = {};

	xp_probes_count(exact->probes, &exact->counts, &unread);
	*ret_ns = xp_exact_cost_ns(exact, ret_events);
}

static uint64_t floor_ns(void *state)
{
	const struct xp_exact *exact = state;
	uint64_t dearest = 0;

	for (unsigned kind = 0; kind < XP_COUNT_KINDS; kind++) {
		uint64_t one = xp_probes_floor(exact->probes, kind);

		dearest = one > dearest ? one : dearest;
	}
	return dearest;
}

static int poll_fd(void *state)
{
	return xp_probes_fd(((struct xp_exact *)state)->probes);
}

static uint32_t children(void *state)
{
	return xp_probes_children(((struct xp_exact *)state)->probes);
}

static const struct xp_collector_ops exact_ops = {
	.name = "exact",
	.prepare = prepare,
	.arm = arm,
	.open = open_window,
	.drain = drain,
	.close_window = close_window,
	.disarm = disarm,
	.want_end = want_end,
	.cost = cost,
	.floor_ns = floor_ns,
	.poll_fd = poll_fd,
	.children = children,
};

struct xp_collector xp_exact_collector(struct xp_exact *exact)
{
	return (struct xp_collector){ .ops = &exact_ops, .state = exact };
}

struct xp_store *xp_exact_store(struct xp_exact *exact)
{
	return exact->store;
}

uint64_t xp_exact_observed(const struct xp_exact *exact)
{
	return exact->observed;
}

void xp_exact_free(struct xp_exact *exact)
{
	if (!exact)
		return;
	xp_probes_free(exact->probes);
	for (unsigned i = 0; i < exact->plan->n_edges; i++)
		xp_pair_counter_done(&exact->counters[i]);
	xp_exact_threads_done(&exact->threads);
	xp_store_free(exact->store);
	free(exact);
}

int xp_exact_new(const struct xp_plan *plan, struct xp_exact **ret_exact, struct xp_err *reterr)
{
	xp_auto(xp_exact_free) struct xp_exact *exact = calloc(1, sizeof(*exact));
	const struct xp_target_id *id = xp_target_identity(plan->target);

	if (!exact)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "exact capture");
	exact->plan = plan;
	exact->store = xp_store_new(plan->bounds.max_events);
	exact->process = xp_store_process(exact->store, id->pid, (struct xp_opt_u64)XP_SOME(id->process_start_time));
	for (unsigned i = 0; i < plan->n_edges; i++)
		xp_pair_counter_init(&exact->counters[i], &plan->edges[i]);
	xp_exact_threads_init(&exact->threads, plan->target);
	int r = xp_exact_points(plan, exact->store, &exact->points, &exact->meanings, &exact->n_points, reterr);

	if (r)
		return r;
	for (size_t i = 0; i < exact->n_points; i++)
		exact->in_use[xp_exact_source_of_point(exact->points[i].at)] = true;
	*ret_exact = xp_steal(&exact);
	return 0;
}
