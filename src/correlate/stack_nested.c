/* SPDX-License-Identifier: Apache-2.0 */
/* stack_nested: calls of one function, paired by thread and frame (contract 9, 9.1 rule 4). In: a match. Out: pairs. No state. */
#include <stdlib.h>
#include <string.h>

#include "correlate/match.h"

/* The kernel keeps this many pending returns a thread; what is nested deeper returns unseen. */
enum { KERNEL_RETURN_DEPTH = 64 };

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* Resolved on a target: the same place in the same file, however it was spelled. Else: the same text. */
static bool same_function(const struct xp_endpoint *start, const struct xp_endpoint *end)
{
	const struct xp_resolved *a = start->resolved, *b = end->resolved;

	if (a && b)
		return a->file_offset == b->file_offset && a->mapping.dev_major == b->mapping.dev_major &&
		       a->mapping.dev_minor == b->mapping.dev_minor && a->mapping.inode == b->mapping.inode;
	return start->uprobe.target == end->uprobe.target && start->uprobe.offset == end->uprobe.offset &&
	       start->uprobe.default_version == end->uprobe.default_version && same_text(start->uprobe.path, end->uprobe.path) &&
	       same_text(start->uprobe.name, end->uprobe.name) && same_text(start->uprobe.version, end->uprobe.version);
}

static unsigned rank(const struct xp_endpoint *start, const struct xp_endpoint *end)
{
	bool call = start->type == XP_EV_HOST_FUNCTION_ENTRY && end->type == XP_EV_HOST_FUNCTION_EXIT;

	return call && same_function(start, end) ? XP_RANK_CALL_FRAME : XP_RANK_IMPOSSIBLE;
}

static const char *method(const struct xp_endpoint *start)
{
	return "stack_nested_tid_lifo";
}

static enum xp_keyed frame_key(const struct xp_match *match, uint32_t event, void *arg, struct xp_key *ret_key)
{
	const struct xp_event *e = &match->events[event];
	bool goroutine = e->flags & XP_EVF_GOROUTINE;

	if (!xp_match_is_start(match, event) && !xp_match_is_end(match, event))
		return XP_KEY_NONE;
	ret_key->part[0] = xp_match_identity(match, event);
	ret_key->part[1] = goroutine;
	ret_key->part[2] = goroutine ? e->host.key : e->tid;
	return XP_KEY_SET;
}

/* Goroutine stacks move in memory: their stack pointers say nothing. */
static bool frames_known(const struct xp_event *a, const struct xp_event *b)
{
	return a->flags & b->flags & XP_EVF_HAS_SP && !((a->flags | b->flags) & XP_EVF_GOROUTINE);
}

/* stack[0..*depth) holds open entries. False: out of memory. */
static bool take_end(struct xp_match *match, const uint32_t *stack, uint32_t *depth, uint32_t end)
{
	const struct xp_event *events = match->events;

	for (; *depth; --*depth) { /* frames below the returning one were left without a return */
		uint32_t top = stack[*depth - 1];

		if (!frames_known(&events[top], &events[end]) || events[top].host.sp >= events[end].host.sp)
			break;
		xp_match_mark(match, top, XP_MARK_UNMATCHED_START);
	}
	if (*depth) {
		uint32_t top = stack[*depth - 1];

		if (!frames_known(&events[top], &events[end]) || events[top].host.sp == events[end].host.sp) {
			--*depth;
			return xp_match_pair(match, top, end);
		}
	}
	xp_match_mark(match, end, XP_MARK_UNMATCHED_END);
	return true;
}

/*
 * How many frames are really open when `entry` is pushed: each one further out has a higher stack pointer; those that were left by
 * longjmp do not count. Only looked at above the kernel's limit, and no further than a few times that limit.
 */
static bool nested_too_deep(const struct xp_match *match, const uint32_t *stack, uint32_t depth, uint32_t entry)
{
	uint64_t sp = match->events[entry].host.sp;
	uint32_t open = 1, floor = depth > 4 * KERNEL_RETURN_DEPTH ? depth - 4 * KERNEL_RETURN_DEPTH : 0;

	if (!(match->events[entry].flags & XP_EVF_HAS_SP))
		return false;
	for (uint32_t i = depth; i > floor && open <= KERNEL_RETURN_DEPTH; i--) {
		const struct xp_event *outer = &match->events[stack[i - 1]];

		if (outer->host.sp > sp) {
			sp = outer->host.sp;
			open++;
		}
	}
	return open > KERNEL_RETURN_DEPTH;
}

/* member doubles as the stack: it never holds more entries than were read. */
static bool pair_frames(struct xp_match *match, uint32_t *member, uint32_t n, void *arg)
{
	bool kernel_returns = match->end->resolved && match->end->resolved->return_method == XP_RETURN_URETPROBE;
	uint32_t depth = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t event = member[i];

		if (xp_match_is_end(match, event) && !take_end(match, member, &depth, event))
			return false;
		if (!xp_match_is_start(match, event))
			continue;
		if (kernel_returns && depth >= KERNEL_RETURN_DEPTH && !match->nested_too_deep)
			match->nested_too_deep = nested_too_deep(match, member, depth, event);
		member[depth++] = event;
	}
	while (depth)
		xp_match_mark(match, member[--depth], XP_MARK_UNMATCHED_START);
	return true;
}

static bool run(struct xp_match *match)
{
	struct xp_grouping by_thread = { .key = frame_key, .group = pair_frames };

	return xp_match_by_key(match, &by_thread);
}

const struct xp_policy xp_policy_stack_nested = {
	.name = "stack_nested",
	.reason = "host_call_frame",
	.confidence = XP_CONF_HIGH,
	.rank = rank,
	.method = method,
	.run = run,
};
