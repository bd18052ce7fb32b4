/* SPDX-License-Identifier: Apache-2.0 */
/* What a task is doing, and how the time of a thread is booked. State: sched_state.h. */
#ifndef XP_BPF_SCHED_BOOK_H
#define XP_BPF_SCHED_BOOK_H

#include "sched_state.h"

static __always_inline unsigned int state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(((struct task_struct___sched *)task)->__state))
		return ((struct task_struct___sched *)task)->__state;
	return ((struct task_struct___old *)task)->state;
}

/* While a task is inside a call its saved ax is -ENOSYS; the exit path stores the result there before sys_exit fires. */
static __always_inline struct xp_sched_place place_of(struct task_struct *task, unsigned int state)
{
	struct pt_regs___kernel *regs = (void *)bpf_task_pt_regs(task);
	struct xp_sched_place place = { .nr = XP_SCHED_NO_CALL, .where = XP_BLOCK_OTHER };
	long nr = regs->orig_ax;
	unsigned int flags = ((struct task_struct___sched *)task)->flags;

	if (nr >= 0 && (long)regs->ax == -ENOSYS) {
		place.nr = nr;
		place.compat = !!(task->thread_info.status & XP_TS_COMPAT);
		place.where = BPF_CORE_READ_BITFIELD((struct task_struct___sched *)task, in_iowait) ? XP_BLOCK_CALL_IO : XP_BLOCK_CALL;
	} else if (nr == -1 && (state & TASK_UNINTERRUPTIBLE)) {
		place.where = XP_BLOCK_PAGE_FAULT;
	}
	if (flags & PF_EXITING)
		place.where = XP_BLOCK_EXIT;
	if (state & TASK_STOPPED_OR_TRACED)
		place.where = XP_BLOCK_STOPPED;
	return place;
}

static __always_inline __u64 runs_of(struct task_struct *task)
{
	if (bpf_core_field_exists(((struct task_struct___sched *)task)->sched_info))
		return ((struct task_struct___sched *)task)->sched_info.pcount;
	return 0;
}

/* In one comparison (pad is 0 in both): with one for each member the verifier takes ten times as long over the slots. */
static __always_inline bool same_place(const struct xp_sched_place *a, const struct xp_sched_place *b)
{
	return *(const __u64 *)a == *(const __u64 *)b;
}

static __always_inline void book(struct xp_sched_thread *thread, const struct xp_sched_place *place, __u64 ns)
{
	struct xp_sched_slot *slot = &thread->slots[XP_SCHED_SLOTS - 1];

	for (int i = 0; i < XP_SCHED_SLOTS - 1; i++) {
		struct xp_sched_slot *at = &thread->slots[i];

		if (!at->count) {
			at->place = *place;
			thread->n_slots = i + 1;
		} else if (!same_place(&at->place, place)) {
			continue;
		}
		slot = at;
		break;
	}
	if (slot == &thread->slots[XP_SCHED_SLOTS - 1]) {
		slot->place.nr = XP_SCHED_NO_CALL;
		slot->place.where = XP_BLOCK_MANY;
		thread->n_slots = XP_SCHED_SLOTS;
	}
	slot->count++;
	slot->total_ns += ns;
	if (ns > slot->max_ns)
		slot->max_ns = ns;
}

/* Books the time since the last turn and takes the new state. A block outside of calls is over when it ends; one inside of a call counts
 * with the call's others at its exit. */
static __always_inline void turn(struct xp_sched_thread *thread, __u8 state, __u64 now)
{
	__u64 start = xp_start_ns, from = thread->since_ns > start ? thread->since_ns : start, ns = now > from ? now - from : 0;
	__u8 old = thread->state;

	thread->state = state;
	thread->since_ns = now;
	if (!start || old > XP_SCHED_BLOCKED)
		return;
	thread->ns[old] += ns;
	if (old != XP_SCHED_BLOCKED)
		return;
	if (thread->place.nr == XP_SCHED_NO_CALL) {
		thread->blocks++;
		book(thread, &thread->place, ns);
		return;
	}
	thread->call_ns += ns;
	thread->call_blocks++;
}

#endif
