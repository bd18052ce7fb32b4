/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the exact capture. */
#ifndef XP_COLLECT_EXACT_PRIV_H
#define XP_COLLECT_EXACT_PRIV_H

#include "base/hash.h"
#include "collect/exact.h"
#include "engine/bpf_probe.h"

/* What events of one engine point become. */
struct xp_exact_point {
	enum xp_event_type type;
	uint32_t endpoints; /* bit set of plan endpoints that select it */
	uint32_t site;	    /* of the store */
	bool goroutine;
};

/* exact_points.c: plan -> engine points and what their events become. Both arrays have *ret_n entries and live in the store's arena. */
int xp_exact_points(const struct xp_plan *plan, struct xp_store *store, struct xp_point **ret_points, struct xp_exact_point **ret_meanings,
		    size_t *ret_n, struct xp_err *reterr);

/* exact_pairs.c: how many pairs an edge surely has, counted event by event. */
struct xp_pair_counter {
	enum xp_policy_id policy;
	uint32_t start_bit, end_bit;
	uint64_t pairs;
	uint64_t starts, ends;	   /* nearest */
	uint64_t waiting, last_ns; /* first_after: starts that wait; time of the youngest event taken */
	struct xp_map index;	   /* thread or goroutine -> lanes[] */
	struct xp_pair_lane *lanes;
	size_t n_lanes, cap_lanes;
};
void xp_pair_counter_init(struct xp_pair_counter *counter, const struct xp_edge *edge);
void xp_pair_counter_done(struct xp_pair_counter *counter);
/* An end whose start lies before the window: at most one a thread and endpoint is told, once. */
bool xp_pair_counter_is_orphan(struct xp_pair_counter *counter, const struct xp_event *event);
/* Policies that pair within a thread take events as they come. */
void xp_pair_counter_take(struct xp_pair_counter *counter, const struct xp_event *event);
/* Policies that pair by time alone take a batch, since rings mix CPUs: events [from, to) of the store. */
void xp_pair_counter_take_batch(struct xp_pair_counter *counter, const struct xp_event *events, size_t from, size_t to);
/* Starts taken that wait for an end; 0 for policies by time. */
uint64_t xp_pair_counter_open(const struct xp_pair_counter *counter);

/* exact_threads.c: names and namespace ids of the threads that events name, read while they live. */
struct xp_exact_threads {
	struct xp_map seen;
	uint32_t *fresh; /* not read yet */
	size_t n_fresh, cap_fresh;
	bool nested; /* the target's ids differ from those that xprobe sees */
};
void xp_exact_threads_init(struct xp_exact_threads *threads, const struct xp_target *target);
void xp_exact_threads_done(struct xp_exact_threads *threads);
void xp_exact_threads_see(struct xp_exact_threads *threads, uint32_t tid);
/* Reads at most `limit` of the fresh ones. */
void xp_exact_threads_read(struct xp_exact_threads *threads, const struct xp_target *target, struct xp_store *store, size_t limit);

/* Contract 15.1 sources of this collector, in the order in which they are told. */
enum xp_exact_source { XP_EXACT_UPROBE, XP_EXACT_SYSCALL, XP_EXACT_TRACEPOINT, XP_EXACT_USDT, XP_EXACT_SOURCE_COUNT };

struct xp_exact {
	const struct xp_plan *plan;
	struct xp_store *store;
	struct xp_point *points;
	struct xp_exact_point *meanings;
	size_t n_points;
	struct xp_probes *probes;
	struct xp_pair_counter counters[XP_MAX_EDGES];
	struct xp_exact_threads threads;
	uint16_t process;
	bool in_use[XP_EXACT_SOURCE_COUNT];
	uint64_t observed, exempted;
	bool full;
	struct xp_probe_counts counts; /* as last read */
};

/* exact_record.c: struct xp_probe_reader.take, arg is the struct xp_exact. */
void xp_exact_take(void *arg, uint32_t point, const struct xp_rec_hdr *record);
/* exact_account.c */
enum xp_exact_source xp_exact_source_of_point(enum xp_point_at at);
uint64_t xp_exact_cost_ns(const struct xp_exact *exact, uint64_t *ret_events);

#endif
