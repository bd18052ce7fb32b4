/* SPDX-License-Identifier: Apache-2.0 */
/* Life cycle of one system call by thread, restarted calls followed (contract 9.1 rule 5). In: a match. Out: pairs. No state. */
#include <asm/unistd.h>

#include "correlate/exact.h"

/* Results that never reach the program: the kernel runs the call again, or a signal handler runs first. */
enum { FIRST_RESTART = -516, LAST_RESTART = -512, INTERRUPTED_CALL = -4 };

struct call {
	bool open;	      /* start is pending */
	bool suspended;	      /* left with a restart code and not entered again yet */
	bool restarted;	      /* inside restart_syscall, which ends the call */
	uint32_t start, left; /* left: the exit with the restart code */
};

static bool is_restart(const struct xp_event *event)
{
	return event->type == XP_EV_SYSCALL_EXIT && event->host.result >= FIRST_RESTART && event->host.result <= LAST_RESTART;
}

/* The events that only tell how an interrupted call went on. Of 32-bit calls the numbers mean something else. */
static bool is_follower(const struct xp_match *match, uint32_t event)
{
	const struct xp_event *e = &match->events[event];

	if ((e->type != XP_EV_SYSCALL_ENTRY && e->type != XP_EV_SYSCALL_EXIT) || e->flags & XP_EVF_COMPAT)
		return false;
	return e->syscall_nr == __NR_restart_syscall || e->syscall_nr == __NR_rt_sigreturn;
}

static enum xp_keyed call_key(const struct xp_match *match, uint32_t event, void *arg, struct xp_key *ret_key)
{
	if (!xp_match_is_start(match, event) && !xp_match_is_end(match, event) && !is_follower(match, event))
		return XP_KEY_NONE;
	ret_key->part[0] = xp_match_identity(match, event);
	ret_key->part[1] = match->events[event].tid;
	return XP_KEY_SET;
}

static void enter(struct xp_match *match, struct call *call, uint32_t event)
{
	if (call->open && call->suspended) { /* the same call issued again continues it */
		call->suspended = false;
		return;
	}
	if (call->open)
		xp_match_mark(match, call->start, XP_MARK_AMBIGUOUS);
	*call = (struct call){ .open = true, .start = event };
}

static bool end_at(struct xp_match *match, struct call *call, uint32_t exit)
{
	uint32_t start = call->start;

	*call = (struct call){ 0 };
	return xp_match_pair(match, start, exit);
}

static bool leave(struct xp_match *match, struct call *call, uint32_t event)
{
	if (is_restart(&match->events[event])) {
		call->suspended = call->open;
		call->restarted = false;
		call->left = event;
		return true;
	}
	if (call->open)
		return end_at(match, call, event);
	xp_match_mark(match, event, XP_MARK_UNMATCHED_END);
	return true;
}

static bool follow(struct xp_match *match, struct call *call, uint32_t event)
{
	const struct xp_event *e = &match->events[event];
	bool exit = e->type == XP_EV_SYSCALL_EXIT;

	if (!call->open)
		return true;
	if (e->syscall_nr == __NR_rt_sigreturn) { /* -EINTR is what the program saw: the call had ended before its signal handler ran */
		bool ended = exit && call->suspended && e->host.result == INTERRUPTED_CALL;

		return ended ? end_at(match, call, call->left) : true;
	}
	if (!exit) {
		call->restarted = call->suspended;
		call->suspended = false;
		return true;
	}
	return call->suspended || call->restarted ? leave(match, call, event) : true;
}

static bool pair_calls(struct xp_match *match, uint32_t *member, uint32_t n, void *arg)
{
	struct call call = { 0 };

	for (uint32_t i = 0; i < n; i++) {
		uint32_t event = member[i];
		bool start = xp_match_is_start(match, event), end = xp_match_is_end(match, event);

		if (end && !leave(match, &call, event))
			return false;
		if (start)
			enter(match, &call, event);
		if (!start && !end && !follow(match, &call, event))
			return false;
	}
	if (call.open)
		xp_match_mark(match, call.start, XP_MARK_UNMATCHED_START);
	return true;
}

bool xp_exact_syscall(struct xp_match *match)
{
	struct xp_grouping by_thread = { .key = call_key, .group = pair_calls };

	return xp_match_by_key(match, &by_thread);
}
