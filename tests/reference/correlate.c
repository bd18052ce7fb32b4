/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contract 9 written a second time, as slowly and plainly as it reads: every question is answered by looking at all events again.
 * Included by one test file; counts that a samples cut bounds are taken at the very end.
 */
#include <asm/unistd.h>

#include "../unit/capture.h"

enum { REF_MAX = 32 };

struct reference {
	const struct capture *c;
	const struct xp_event *e;
	int n;
	bool pair[REF_MAX][REF_MAX]; /* [start][end] */
	bool lost_start[REF_MAX], lost_end[REF_MAX], replaced[REF_MAX], many[REF_MAX];
	bool early[REF_MAX][REF_MAX]; /* [start][end]: the activity lies before its launch, within the clock error */
	int crowd[REF_MAX];	      /* exact CUDA: number of the ambiguous group an event is in, -1 = none */
	struct xp_pair pairs[REF_MAX * REF_MAX];
	struct xp_pairs out;
};

static bool ref_role(const struct reference *r, int i, uint32_t bit)
{
	return (r->e[i].endpoints & bit) && !(r->e[i].flags & XP_EVF_INVALID_TIME);
}

static bool ref_start(const struct reference *r, int i)
{
	return ref_role(r, i, START);
}

static bool ref_end(const struct reference *r, int i)
{
	return ref_role(r, i, END);
}

/* One pid, and at most one start time known: a missing one joins it. */
static bool ref_same_thread(const struct reference *r, int a, int b)
{
	return r->e[a].tid == r->e[b].tid;
}

static bool ref_paired(const struct reference *r, int i, bool as_start)
{
	for (int k = 0; k < r->n; k++)
		if (as_start ? r->pair[i][k] : r->pair[k][i])
			return true;
	return false;
}

/* Everything selected that is in no pair and not told otherwise is left over in that role. */
static void ref_leave_rest(struct reference *r)
{
	for (int i = 0; i < r->n; i++) {
		if (ref_start(r, i) && !ref_paired(r, i, true) && !r->replaced[i] && r->crowd[i] < 0)
			r->lost_start[i] = true;
		if (ref_end(r, i) && !ref_paired(r, i, false) && r->crowd[i] < 0)
			r->lost_end[i] = true;
	}
}

/* The first end behind the start that nobody took and that lies in the same lane. */
static void ref_in_order(struct reference *r, bool (*same_lane)(const struct reference *, int, int))
{
	for (int s = 0; s < r->n; s++) {
		if (!ref_start(r, s) || !same_lane(r, s, s))
			continue;
		for (int e = s + 1; e < r->n; e++) {
			if (ref_end(r, e) && same_lane(r, s, e) && !ref_paired(r, e, false)) {
				r->pair[s][e] = true;
				break;
			}
		}
	}
}

static bool ref_any_lane(const struct reference *r, int a, int b)
{
	return true;
}

static bool ref_stream(const struct reference *r, int a, int b)
{
	const struct xp_event *x = &r->e[a], *y = &r->e[b];
	unsigned missing = XP_EVF_NO_DEVICE | XP_EVF_NO_CONTEXT | XP_EVF_NO_STREAM;

	if ((x->flags | y->flags) & missing || x->gpu.stream == UINT32_MAX)
		return false;
	return x->gpu.device == y->gpu.device && x->gpu.context == y->gpu.context && x->gpu.stream == y->gpu.stream;
}

static uint64_t ref_distance(const struct reference *r, int a, int b)
{
	return r->e[a].t_ns > r->e[b].t_ns ? r->e[a].t_ns - r->e[b].t_ns : r->e[b].t_ns - r->e[a].t_ns;
}

static void ref_nearest(struct reference *r)
{
	for (int s = 0; s < r->n; s++) {
		int best = -1;

		for (int e = 0; e < r->n && ref_start(r, s); e++) {
			if (!ref_end(r, e) || ref_paired(r, e, false) || (ref_end(r, s) && e <= s))
				continue;
			if (best < 0 || ref_distance(r, s, e) < ref_distance(r, s, best))
				best = e; /* of one timestamp the lower sequence stays, since it came first */
			else if (ref_distance(r, s, e) == ref_distance(r, s, best) && r->e[e].t_ns > r->e[best].t_ns)
				best = e; /* equal distance: the later one */
		}
		if (best >= 0)
			r->pair[s][best] = true;
	}
}

static bool ref_same_frame_key(const struct reference *r, int a, int b)
{
	bool ga = r->e[a].flags & XP_EVF_GOROUTINE, gb = r->e[b].flags & XP_EVF_GOROUTINE;

	if (ga != gb)
		return false;
	return ga ? r->e[a].host.key == r->e[b].host.key : r->e[a].tid == r->e[b].tid;
}

/* -1: frame a lies below b's, 1: above, 0: the same, or nobody knows. */
static int ref_frame_order(const struct reference *r, int a, int b)
{
	bool known = (r->e[a].flags & XP_EVF_HAS_SP) && (r->e[b].flags & XP_EVF_HAS_SP) && !(r->e[a].flags & XP_EVF_GOROUTINE);

	if (!known || r->e[a].host.sp == r->e[b].host.sp)
		return 0;
	return r->e[a].host.sp < r->e[b].host.sp ? -1 : 1;
}

/* The youngest entry before `at` that is still open in that thread. */
static int ref_top(const struct reference *r, int at)
{
	for (int s = at - 1; s >= 0; s--)
		if (ref_start(r, s) && ref_same_frame_key(r, s, at) && !ref_paired(r, s, true) && !r->lost_start[s])
			return s;
	return -1;
}

static void ref_stack_nested(struct reference *r)
{
	for (int e = 0; e < r->n; e++) {
		int top;

		if (!ref_end(r, e))
			continue;
		while ((top = ref_top(r, e)) >= 0 && ref_frame_order(r, top, e) < 0)
			r->lost_start[top] = true;
		if (top >= 0 && ref_frame_order(r, top, e) == 0)
			r->pair[top][e] = true;
	}
}

static bool ref_same_range(const struct reference *r, int a, int b)
{
	const struct xp_event_detail *x = xp_store_detail(r->c->store, &r->e[a]), *y = xp_store_detail(r->c->store, &r->e[b]);

	return x->nvtx.range_id == y->nvtx.range_id && x->nvtx.process_range == y->nvtx.process_range;
}

static void ref_life(struct reference *r, bool (*same)(const struct reference *, int, int))
{
	for (int i = 0; i < r->n; i++) {
		if (!ref_start(r, i))
			continue;
		for (int k = i + 1; k < r->n; k++) { /* the next event of the key decides what becomes of this start */
			if ((!ref_start(r, k) && !ref_end(r, k)) || !same(r, i, k))
				continue;
			if (ref_start(r, k))
				r->replaced[i] = true;
			else
				r->pair[i][k] = true;
			break;
		}
	}
}

static bool ref_restart_code(const struct xp_event *e)
{
	return e->host.result <= -512 && e->host.result >= -516;
}

/* What becomes of the call that start `s` began: follows its thread event by event. */
static void ref_call(struct reference *r, int s, bool *continues)
{
	enum { INSIDE, LEFT, AGAIN } where = INSIDE;
	int left = -1;

	for (int k = s + 1; k < r->n; k++) {
		const struct xp_event *e = &r->e[k];
		bool entry = e->type == XP_EV_SYSCALL_ENTRY, other = !ref_start(r, k) && !ref_end(r, k);

		if (!ref_same_thread(r, s, k) || (other && e->flags & XP_EVF_COMPAT))
			continue;
		if (other && e->syscall_nr == __NR_rt_sigreturn) {
			if (!entry && where == LEFT && e->host.result == -4) {
				r->pair[s][left] = true;
				return;
			}
		} else if (other) { /* restart_syscall */
			if (entry && where != INSIDE)
				where = AGAIN;
			else if (entry || where == INSIDE)
				where = INSIDE;
			else if (ref_restart_code(e))
				where = LEFT, left = k;
			else {
				r->pair[s][k] = true;
				return;
			}
		} else if (entry) {
			if (where != LEFT) {
				r->replaced[s] = true;
				return;
			}
			continues[k] = true;
			where = INSIDE;
		} else if (ref_restart_code(e)) {
			where = LEFT, left = k;
		} else {
			r->pair[s][k] = true;
			return;
		}
	}
}

static void ref_syscall(struct reference *r)
{
	bool continues[REF_MAX] = { false };

	for (int s = 0; s < r->n; s++)
		if (ref_start(r, s) && !continues[s])
			ref_call(r, s, continues);
	ref_leave_rest(r);
	for (int i = 0; i < r->n; i++) {
		if (continues[i])
			r->lost_start[i] = false;
		if (ref_end(r, i) && ref_restart_code(&r->e[i]))
			r->lost_end[i] = false; /* not an end */
	}
}

#include "correlate_cuda.c"

static void ref_policy(struct reference *r)
{
	for (int i = 0; i < r->n; i++)
		r->crowd[i] = -1;
	switch ((int)r->c->request.policy) {
	case XP_POLICY_STACK_NESTED:
		ref_stack_nested(r);
		break;
	case XP_POLICY_STREAM_ORDER:
		ref_in_order(r, ref_stream);
		break;
	case XP_POLICY_FIRST_AFTER:
		ref_in_order(r, ref_any_lane);
		break;
	case XP_POLICY_NEAREST:
		ref_nearest(r);
		break;
	default:
		if (r->c->start.type == XP_EV_SYSCALL_ENTRY)
			ref_syscall(r);
		else if (r->c->start.type == XP_EV_PYTHON_GC_START)
			ref_life(r, ref_same_thread);
		else if (r->c->start.type == XP_EV_NVTX_RANGE_START)
			ref_life(r, ref_same_range);
		else
			ref_cuda(r);
	}
	if (r->c->start.type != XP_EV_SYSCALL_ENTRY)
		ref_leave_rest(r);
}

/* An ambiguous group: the larger side, as far as it lies before the cut. */
static uint64_t ref_crowds(const struct reference *r, int cut)
{
	uint64_t total = 0;

	for (int g = 0; g < r->n; g++) {
		uint64_t starts = 0, ends = 0;

		for (int i = 0; i <= cut && i < r->n; i++) {
			starts += r->crowd[i] == g && ref_start(r, i);
			ends += r->crowd[i] == g && ref_end(r, i);
		}
		total += starts > ends ? starts : ends;
	}
	return total;
}

static void ref_count(struct reference *r, uint64_t samples)
{
	struct xp_pairs out = { .at = r->pairs };
	int cut = r->n, last_start = r->n;

	for (int s = 0; s < r->n; s++) {
		for (int e = 0; e < r->n; e++) {
			if (!r->pair[s][e] || (samples && out.n == samples))
				continue;
			r->pairs[out.n++] = (struct xp_pair){ (uint32_t)s, (uint32_t)e };
			if (out.n == samples) {
				cut = s > e ? s : e;
				last_start = s;
			}
		}
	}
	for (int i = 0; i <= cut && i < r->n; i++) {
		out.unmatched_start += r->lost_start[i];
		out.unmatched_end += r->lost_end[i];
		out.ambiguous += r->replaced[i];
		out.one_to_many += r->many[i] && i <= last_start;
		for (int k = 0; k <= cut && k < r->n; k++)
			out.within_clock_error += r->early[i][k];
	}
	out.ambiguous += ref_crowds(r, cut);
	r->out = out;
}

static void ref_run(struct reference *r, struct capture *c)
{
	memset(r, 0, sizeof(*r));
	r->c = c;
	r->e = xp_store_events(c->store);
	r->n = (int)xp_store_count(c->store);
	assert_true(r->n <= REF_MAX);
	ref_policy(r);
	ref_count(r, c->request.samples);
}
