/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs that one edge surely has, counted while the window is open so that it can end at `samples`. In: events of one capture. Out: a
 * count that is never above what correlation will find. Its own state only; every table has a cap, and what does not fit is not counted.
 */
#include <asm/unistd.h>
#include <stdlib.h>

#include "collect/exact_priv.h"

enum { MAX_LANES = 1 << 20, MAX_DEPTH = 4096, FIRST_RESTART = -516, LAST_RESTART = -512, INTERRUPTED = -4 };

/* One thread, or one goroutine. */
struct xp_pair_lane {
	uint64_t *frames; /* stack_nested: stack pointers of open entries */
	uint32_t depth, cap;
	bool open;	  /* exact: a start is pending */
	bool interrupted; /* exact: its call left with a restart code */
	bool orphaned;	  /* the end of a start before the window was seen, or a start, behind which there is none */
};

void xp_pair_counter_init(struct xp_pair_counter *counter, const struct xp_edge *edge)
{
	*counter = (struct xp_pair_counter){ .policy = edge->policy, .start_bit = 1u << edge->start, .end_bit = 1u << edge->end };
}

void xp_pair_counter_done(struct xp_pair_counter *counter)
{
	for (size_t i = 0; i < counter->n_lanes; i++)
		free(counter->lanes[i].frames);
	free(counter->lanes);
	xp_map_done(&counter->index);
}

static bool by_thread(const struct xp_pair_counter *counter)
{
	return counter->policy == XP_POLICY_STACK_NESTED || counter->policy == XP_POLICY_EXACT;
}

/* NULL when there is no room for another thread: its pairs are not counted then. */
static struct xp_pair_lane *lane_of(struct xp_pair_counter *counter, const struct xp_event *event)
{
	bool fresh;
	uint64_t key = event->flags & XP_EVF_GOROUTINE ? event->host.key : event->tid;

	if (counter->n_lanes == MAX_LANES && !xp_map_find(&counter->index, key, NULL, NULL))
		return NULL;
	if (counter->n_lanes == counter->cap_lanes) {
		size_t cap = counter->cap_lanes ? 2 * counter->cap_lanes : 64;
		struct xp_pair_lane *lanes = reallocarray(counter->lanes, cap, sizeof(*lanes));

		if (!lanes)
			return NULL;
		counter->lanes = lanes;
		counter->cap_lanes = cap;
	}
	uint64_t *slot = xp_map_at(&counter->index, key, NULL, NULL, &fresh);

	if (fresh) {
		counter->lanes[counter->n_lanes] = (struct xp_pair_lane){};
		*slot = counter->n_lanes++;
	}
	return &counter->lanes[*slot];
}

bool xp_pair_counter_is_orphan(struct xp_pair_counter *counter, const struct xp_event *event)
{
	if (!by_thread(counter) || !(event->endpoints & counter->end_bit))
		return false;
	struct xp_pair_lane *lane = lane_of(counter, event);

	if (!lane || lane->orphaned || lane->depth || lane->open)
		return false;
	lane->orphaned = true;
	return true;
}

static void push_frame(struct xp_pair_lane *lane, uint64_t sp)
{
	if (lane->depth == lane->cap) {
		uint32_t cap = lane->cap ? 2 * lane->cap : 8;
		uint64_t *frames = cap <= MAX_DEPTH ? reallocarray(lane->frames, cap, sizeof(*frames)) : NULL;

		if (!frames)
			return;
		lane->frames = frames;
		lane->cap = cap;
	}
	lane->frames[lane->depth++] = sp;
}

/* As correlation does it: frames below the returning one were left, one above is not its entry; goroutine stacks move. */
static bool pop_frame(struct xp_pair_lane *lane, const struct xp_event *event)
{
	bool moving = event->flags & XP_EVF_GOROUTINE;
	uint64_t sp = event->host.sp;

	while (!moving && lane->depth && lane->frames[lane->depth - 1] < sp)
		lane->depth--;
	if (!lane->depth || (!moving && lane->frames[lane->depth - 1] != sp))
		return false;
	lane->depth--;
	return true;
}

static bool is_restart(const struct xp_event *event)
{
	return event->type == XP_EV_SYSCALL_EXIT && event->host.result >= FIRST_RESTART && event->host.result <= LAST_RESTART;
}

static bool end_call(struct xp_pair_lane *lane)
{
	bool was_open = lane->open;

	lane->open = lane->interrupted = false;
	return was_open;
}

/* restart_syscall and rt_sigreturn behind a restart code (contract 9.1 rule 5). */
static bool follow(struct xp_pair_lane *lane, const struct xp_event *event)
{
	if (event->type != XP_EV_SYSCALL_EXIT || !lane->open || !lane->interrupted)
		return false;
	if (event->syscall_nr == __NR_rt_sigreturn)
		return event->host.result == INTERRUPTED && end_call(lane);
	return !is_restart(event) && end_call(lane);
}

static bool take_call(const struct xp_pair_counter *counter, struct xp_pair_lane *lane, const struct xp_event *event)
{
	bool paired = false;

	if (event->flags & XP_EVF_CONTINUES)
		return follow(lane, event);
	if (event->endpoints & counter->end_bit) {
		if (is_restart(event))
			lane->interrupted = lane->open;
		else
			paired = end_call(lane);
	}
	if (event->endpoints & counter->start_bit) {
		lane->open = lane->orphaned = true;
		lane->interrupted = false;
	}
	return paired;
}

static bool take_frame(const struct xp_pair_counter *counter, struct xp_pair_lane *lane, const struct xp_event *event)
{
	bool paired = event->endpoints & counter->end_bit && pop_frame(lane, event);

	if (event->endpoints & counter->start_bit) {
		push_frame(lane, event->host.sp);
		lane->orphaned = true;
	}
	return paired;
}

void xp_pair_counter_take(struct xp_pair_counter *counter, const struct xp_event *event)
{
	bool ours = event->endpoints & (counter->start_bit | counter->end_bit);

	if (!by_thread(counter) || (!ours && !(event->flags & XP_EVF_CONTINUES)))
		return;
	struct xp_pair_lane *lane = lane_of(counter, event);

	if (lane)
		counter->pairs += counter->policy == XP_POLICY_EXACT ? take_call(counter, lane, event) : take_frame(counter, lane, event);
}

struct moment {
	uint64_t t_ns, order;
	uint32_t endpoints;
};

static int by_time(const void *left, const void *right)
{
	const struct moment *a = left, *b = right;

	if (a->t_ns != b->t_ns)
		return a->t_ns < b->t_ns ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* first_after: every end takes the oldest waiting start. One that comes late from another CPU is left out rather than paired wrongly. */
static void take_moment(struct xp_pair_counter *counter, const struct moment *moment)
{
	bool late = moment->t_ns < counter->last_ns;

	if (moment->endpoints & counter->end_bit && counter->waiting && !late) {
		counter->waiting--;
		counter->pairs++;
	}
	if (moment->endpoints & counter->start_bit)
		counter->waiting++;
	if (!late)
		counter->last_ns = moment->t_ns;
}

static void count_sides(struct xp_pair_counter *counter, const struct moment *moment)
{
	counter->starts += (moment->endpoints & counter->start_bit) != 0;
	counter->ends += (moment->endpoints & counter->end_bit) != 0;
	/* nearest finds a partner for every start while one is left; an event that is both never takes itself. */
	uint64_t fewer = counter->starts < counter->ends ? counter->starts : counter->ends;
	bool own = counter->start_bit == counter->end_bit;

	counter->pairs = own && fewer ? fewer - 1 : fewer;
}

void xp_pair_counter_take_batch(struct xp_pair_counter *counter, const struct xp_event *events, size_t from, size_t to)
{
	xp_auto(xp_free) void *block = by_thread(counter) || from == to ? NULL : calloc(to - from, sizeof(struct moment));
	struct moment *moments = block;

	if (!moments)
		return;
	for (size_t i = from; i < to; i++)
		moments[i - from] = (struct moment){ .t_ns = events[i].t_ns, .order = i, .endpoints = events[i].endpoints };
	if (counter->policy == XP_POLICY_FIRST_AFTER)
		qsort(moments, to - from, sizeof(*moments), by_time);
	for (size_t i = 0; i < to - from; i++) {
		if (counter->policy == XP_POLICY_FIRST_AFTER)
			take_moment(counter, &moments[i]);
		else if (counter->policy == XP_POLICY_NEAREST)
			count_sides(counter, &moments[i]);
	}
}

uint64_t xp_pair_counter_open(const struct xp_pair_counter *counter)
{
	uint64_t open = 0;

	for (size_t i = 0; i < counter->n_lanes; i++)
		open += counter->lanes[i].depth + counter->lanes[i].open;
	return open;
}
