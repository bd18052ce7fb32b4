/* SPDX-License-Identifier: Apache-2.0 */
/* A small capture for tests of correlation: events in a store, two endpoints, and one call that correlates them. */
#ifndef XP_TEST_CAPTURE_H
#define XP_TEST_CAPTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "correlate/correlate.h"

enum { START = 1, END = 2, BOTH = 3, NEITHER = 0 };
enum { TEST_PID = 4242 };

struct capture {
	struct xp_store *store;
	struct xp_endpoint start, end;
	struct xp_correlate_request request;
	struct xp_pairs pairs;
};

static inline struct capture *capture_new(enum xp_policy_id policy, enum xp_event_type start, enum xp_event_type end)
{
	struct capture *c = calloc(1, sizeof(*c));

	c->store = xp_store_new(1000000);
	c->start = (struct xp_endpoint){ .type = start, .cuda.memcpy_kind = -1 };
	c->end = (struct xp_endpoint){ .type = end, .cuda.memcpy_kind = -1 };
	c->request =
		(struct xp_correlate_request){ .start = &c->start, .end = &c->end, .start_bit = START, .end_bit = END, .policy = policy };
	return c;
}

static inline void capture_free(struct capture *c)
{
	xp_pairs_done(&c->pairs);
	xp_store_free(c->store);
	free(c);
}

/* An event of the endpoint's type, of thread 1, on the host clock. */
static inline struct xp_event event_of(const struct capture *c, uint64_t t_ns, uint32_t endpoints)
{
	struct xp_event e = { .t_ns = t_ns, .sequence = xp_store_count(c->store), .pid = TEST_PID, .tid = 1, .endpoints = endpoints };

	e.detail = XP_NO_DETAIL;
	e.type = (uint8_t)(endpoints & START ? c->start.type : c->end.type);
	e.process = xp_store_process(c->store, TEST_PID, (struct xp_opt_u64)XP_SOME(7));
	return e;
}

static inline void put(struct capture *c, struct xp_event e)
{
	assert_true(xp_store_add(c->store, &e));
}

static inline void put_at(struct capture *c, uint64_t t_ns, uint32_t endpoints)
{
	put(c, event_of(c, t_ns, endpoints));
}

static inline const struct xp_pairs *correlate(struct capture *c)
{
	xp_auto_err err = { 0 };

	xp_pairs_done(&c->pairs);
	xp_store_sort(c->store);
	assert_int_equal(xp_correlate(c->store, &c->request, &c->pairs, &err), 0);
	return &c->pairs;
}

/* Counts in the order matched, unmatched_start, unmatched_end, ambiguous. */
static inline void expect_counts(const struct xp_pairs *p, uint64_t matched, uint64_t starts, uint64_t ends, uint64_t ambiguous)
{
	assert_int_equal(p->n, matched);
	assert_int_equal(p->unmatched_start, starts);
	assert_int_equal(p->unmatched_end, ends);
	assert_int_equal(p->ambiguous, ambiguous);
}

/* The i-th pair by the times of its events. */
static inline void expect_pair(struct capture *c, uint64_t i, uint64_t start_ns, uint64_t end_ns)
{
	const struct xp_event *events = xp_store_events(c->store);

	assert_true(i < c->pairs.n);
	assert_int_equal(events[c->pairs.at[i].start].t_ns, start_ns);
	assert_int_equal(events[c->pairs.at[i].end].t_ns, end_ns);
}

#endif
