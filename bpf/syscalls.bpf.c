/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls of one process, or several, summed up in the kernel. In: sys_enter, sys_exit, sched_process_exit. Out: a cell a thread and
 * call, a record a thread. State: syscalls_state.h.
 *
 * From attach on open calls are followed; from xp_counting on they are counted. So at the window's start every thread that is inside a
 * call is known, and none of their exits is a riddle.
 */
#include "syscalls_book.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

static __always_inline struct xp_sys_thread *lost_of(__u32 target)
{
	return &xp_lost[target & (XP_TARGETS_MAX - 1)];
}

/* Number and flags of the open call: one word, because xp_adopt and the thread itself may set it at the same time. */
static __always_inline __u64 *word_of(struct xp_sys_thread *thread)
{
	return (__u64 *)&thread->open.nr;
}

static __always_inline __u64 call_word(__u32 nr, __u32 flags)
{
	return nr | (__u64)flags << 32;
}

/*
 * The state of a thread, made when there is none. The kernel refuses to make one while another task is preempted in the middle of
 * making its own on this CPU, and gives nothing to the loser of a race; existing states are always found.
 */
static __always_inline struct xp_sys_thread *own_thread(struct task_struct *task, int target, __u32 tid)
{
	struct xp_sys_thread *thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!thread)
		thread = bpf_task_storage_get(&threads, task, 0, 0);
	if (thread && !thread->thread) {
		__u32 number = (__sync_fetch_and_add(&xp_threads, 1) + 1) << XP_SYS_TARGET_BITS | (__u32)target;

		if (!__sync_val_compare_and_swap(&thread->thread, 0, number)) {
			__sync_fetch_and_or(&thread->flags, (__u32)target << XP_SYS_TARGET_SHIFT);
			thread->tid = tid;
		}
	}
	return thread;
}

static __always_inline bool on_signal_stack(struct task_struct *task, unsigned long sp)
{
	struct task_struct___signal *signal = (void *)task;
	unsigned long base = BPF_CORE_READ(signal, sas_ss_sp), size = BPF_CORE_READ(signal, sas_ss_size);

	return size && sp > base && sp - base <= size;
}

/*
 * Does this entry go on with the interrupted call on top? The kernel enters again with the very ip and sp of the interrupted exit;
 * a handler's own calls come from deeper in the stack or from the signal stack. A call from further up the stack means that the
 * handler was left by a jump: the interrupted call ended at its exit.
 */
static __noinline int resume(struct xp_sys_thread *thread, struct task_struct *task, __u32 nr, __u32 compat)
{
	struct pt_regs___kernel *regs = (void *)bpf_task_pt_regs(task);
	unsigned long ip = BPF_CORE_READ(regs, ip), sp = BPF_CORE_READ(regs, sp);

	for (int i = 0; i < XP_SYS_PENDING; i++) {
		__u32 top = thread->n_pending - 1;

		if (top >= XP_SYS_PENDING)
			return 0;
		struct xp_sys_call *call = &thread->pending[top];
		bool same = call->nr == nr && call->ip == ip && call->sp == sp;

		if (same || is_restart_call(nr, compat)) {
			thread->open = *call;
			thread->open.flags |= XP_SYS_OPEN;
			thread->n_pending = top;
			return 1;
		}
		if (sp < call->sp || on_signal_stack(task, sp))
			return 0;
		thread->n_pending = top;
		finish(thread, call, call->end_ns, -512);
	}
	return 0;
}

static __noinline int enter_window(struct xp_sys_thread *thread)
{
	thread->entries++;
	thread->open.flags |= XP_SYS_COUNTED;
	if (__sync_fetch_and_add(&xp_inflight, 1) < xp_max_inflight) {
		thread->open.flags |= XP_SYS_SLOT;
		return 0;
	}
	__sync_fetch_and_sub(&xp_inflight, 1);
	thread->open.flags |= XP_SYS_DROPPED;
	thread->dropped_inflight++;
	return 0;
}

SEC("tp_btf/sys_enter")
int xp_sys_enter(__u64 *ctx)
{
	__u32 pid, tid;
	int target = xp_which(&pid, &tid);

	if (target < 0)
		return 0;

	struct task_struct *task = bpf_get_current_task_btf();
	struct xp_sys_thread *thread = own_thread(task, target, tid);
	__u32 nr = ctx[1], compat = !!(task->thread_info.status & XP_TS_COMPAT);

	if (!thread) {
		if (xp_counting) {
			xp_untracked = 1;
			__sync_fetch_and_add(&lost_of(target)->entries, 1);
			__sync_fetch_and_add(&lost_of(target)->dropped_inflight, 1);
		}
		return 0;
	}
	/* An exit that never came: the entry it belongs to must not stay on the books. */
	if ((thread->open.flags & (XP_SYS_OPEN | XP_SYS_COUNTED | XP_SYS_DROPPED | XP_SYS_RETURN)) == (XP_SYS_OPEN | XP_SYS_COUNTED)) {
		thread->dropped_missed++;
		release_slot(&thread->open);
	}
	if (thread->n_pending && !is_sigreturn(nr, compat) && resume(thread, task, nr, compat))
		return 0;

	thread->open.start_ns = 0;
	thread->open.interrupted = 0;
	*(volatile __u64 *)word_of(thread) = call_word(nr, XP_SYS_OPEN | (compat ? XP_SYS_COMPAT : 0));
	if (!compat && (nr == NR_URETPROBE || nr == NR_UPROBE)) {
		thread->open.flags |= XP_SYS_OWN;
		thread->own_probe += xp_counting;
		return 0;
	}
	thread->open.start_ns = bpf_ktime_get_ns();
	if (is_sigreturn(nr, compat))
		thread->open.flags |= XP_SYS_RETURN | (xp_counting ? XP_SYS_COUNTED : 0);
	else if (xp_counting && !is_restart_call(nr, compat))
		enter_window(thread); /* a restart of a call that nobody saw began before the window */
	return 0;
}

/*
 * rt_sigreturn belongs to the interrupted call when it restores that call's stack pointer: with its ip and -EINTR the call ended at
 * its exit, with the ip of the call instruction (2 bytes before) it is about to be entered again. Else it is a call like any other.
 */
static __noinline int leave_sigreturn(struct xp_sys_thread *thread, const struct pt_regs___kernel *regs, long result)
{
	unsigned long ip = BPF_CORE_READ(regs, ip), sp = BPF_CORE_READ(regs, sp);
	__u64 now = bpf_ktime_get_ns();
	__u32 top = thread->n_pending - 1;

	if (top < XP_SYS_PENDING) {
		struct xp_sys_call *call = &thread->pending[top];

		if (call->sp == sp && call->ip - 2 == ip)
			return 0;
		if (call->sp == sp && call->ip == ip && result == -EINTR) {
			thread->n_pending = top;
			return finish(thread, call, call->end_ns, -512);
		}
	}
	if (!(thread->open.flags & XP_SYS_COUNTED))
		return 0;
	thread->entries++;
	return finish(thread, &thread->open, now, 0);
}

/* The kernel will either enter the call again or give -EINTR to the program; which one shows later. */
static __noinline int interrupt(struct xp_sys_thread *thread, const struct pt_regs___kernel *regs, long result)
{
	__u32 n = thread->n_pending;

	thread->open.interrupted++;
	thread->open.end_ns = bpf_ktime_get_ns();
	thread->open.ip = BPF_CORE_READ(regs, ip);
	thread->open.sp = BPF_CORE_READ(regs, sp);
	if (n >= XP_SYS_PENDING)
		return finish(thread, &thread->open, thread->open.end_ns, result);
	thread->pending[n] = thread->open;
	thread->n_pending = n + 1;
	return 0;
}

static __always_inline void leave(struct xp_sys_thread *thread, const struct pt_regs___kernel *regs, long result)
{
	__u32 flags = thread->open.flags;

	if (flags & (XP_SYS_OWN | XP_SYS_DROPPED))
		return;
	if (flags & XP_SYS_RETURN)
		leave_sigreturn(thread, regs, result);
	else if (is_restart(result))
		interrupt(thread, regs, result);
	else
		finish(thread, &thread->open, bpf_ktime_get_ns(), result);
}

SEC("tp_btf/sys_exit")
int xp_sys_exit(__u64 *ctx)
{
	__u32 pid, tid, target;
	int index = xp_which(&pid, &tid);

	if (index < 0)
		return 0;
	target = index;

	struct task_struct *task = bpf_get_current_task_btf();
	struct xp_sys_thread *thread = bpf_task_storage_get(&threads, task, 0, 0);
	__u64 *seen = bpf_map_lookup_elem(&calls, &target);

	if (seen)
		(*seen)++;
	if (!thread) {
		/* A new thread's first event is the exit of the clone that made it: the first chance to make its state. */
		own_thread(task, index, tid);
		if (xp_counting && xp_untracked)
			__sync_fetch_and_add(&lost_of(target)->unmatched, 1);
		return 0;
	}
	if (!(thread->open.flags & XP_SYS_OPEN)) {
		thread->unmatched += xp_counting && !(thread->open.flags & XP_SYS_BEFORE);
		thread->open.flags = 0;
		return 0;
	}
	leave(thread, (const struct pt_regs___kernel *)ctx[0], (long)ctx[1]);
	thread->open.flags = 0;
	return 0;
}

/* A call that a thread took with it when it ended. */
static __always_inline void end_call(struct xp_sys_thread *thread, struct xp_sys_call *call)
{
	if (call->flags & (XP_SYS_OWN | XP_SYS_DROPPED | XP_SYS_RETURN))
		return;
	if (call->flags & XP_SYS_COUNTED)
		thread->no_return++;
	else
		thread->open_at_start_ended += xp_counting;
	release_slot(call);
}

static __noinline int lose(const struct xp_sys_thread *thread)
{
	struct xp_sys_thread *lost;

	if (!thread)
		return 0;
	lost = lost_of(thread->flags >> XP_SYS_TARGET_SHIFT);
	__sync_fetch_and_add(&lost->entries, thread->entries);
	__sync_fetch_and_add(&lost->matched, thread->matched);
	__sync_fetch_and_add(&lost->unmatched, thread->unmatched);
	__sync_fetch_and_add(&lost->no_return, thread->no_return);
	__sync_fetch_and_add(&lost->dropped_inflight, thread->dropped_inflight);
	__sync_fetch_and_add(&lost->dropped_table, thread->dropped_table);
	__sync_fetch_and_add(&lost->dropped_missed, thread->dropped_missed);
	__sync_fetch_and_add(&lost->own_probe, thread->own_probe);
	__sync_fetch_and_add(&lost->open_at_start_ended, thread->open_at_start_ended);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int xp_thread_exit(__u64 *ctx)
{
	__u32 pid, tid;

	if (xp_which(&pid, &tid) < 0)
		return 0;

	struct task_struct *task = bpf_get_current_task_btf();
	struct xp_sys_thread *thread = bpf_task_storage_get(&threads, task, 0, 0);

	if (!thread || (thread->flags & XP_SYS_THREAD_ENDED))
		return 0;
	if (thread->open.flags & XP_SYS_OPEN)
		end_call(thread, &thread->open);
	thread->open.flags = 0;
	for (int i = 0; i < XP_SYS_PENDING; i++)
		if (i < thread->n_pending)
			end_call(thread, &thread->pending[i]);
	thread->n_pending = 0;
	thread->flags |= XP_SYS_THREAD_ENDED;
	thread->tid = tid; /* an exec by another thread than the first gives it the first one's id */
	bpf_get_current_comm(thread->name, sizeof(thread->name));
	if (xp_counting && bpf_ringbuf_output(&ended, thread, sizeof(*thread), BPF_RB_NO_WAKEUP))
		lose(thread);
	return 0;
}

/* While a task is inside a call its saved ax is -ENOSYS; the exit path stores the result there before sys_exit fires. */
static __always_inline bool inside_call(struct task_struct *task, __u32 *nr)
{
	struct pt_regs___kernel *regs = (void *)bpf_task_pt_regs(task);
	long number = BPF_CORE_READ(regs, orig_ax);

	*nr = number;
	return number >= 0 && (long)BPF_CORE_READ(regs, ax) == -ENOSYS;
}

/*
 * Run once behind the attach, before the window: every thread gets its state, so that none has to be made in the middle of its calls,
 * and those inside a call since before have it open. A thread that runs meanwhile sets its word itself; what it wrote stands.
 */
SEC("iter/task")
int xp_adopt(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	int target = task ? xp_index_of_task(task) : -1;
	__u64 before = call_word(0, XP_SYS_BEFORE), mine = before;
	__u32 nr, again;

	if (!task || target < 0)
		return 0;
	if (inside_call(task, &nr))
		mine = call_word(nr, XP_SYS_BEFORE | XP_SYS_OPEN |
					     (BPF_CORE_READ(task, thread_info.status) & XP_TS_COMPAT ? XP_SYS_COMPAT : 0));
	struct xp_sys_thread *thread = own_thread(task, target, xp_id_at_level(task));
	if (!thread || __sync_val_compare_and_swap(word_of(thread), 0, mine) || mine == before)
		return 0;
	/* It may have left meanwhile, unseen: no state was there. */
	if (!inside_call(task, &again) || again != nr)
		__sync_val_compare_and_swap(word_of(thread), mine, before);
	return 0;
}

/* Run once behind the detach: every thread that lives, with what it has open. */
SEC("iter/task")
int xp_list(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct xp_sys_thread nothing = {};
	int target = task ? xp_index_of_task(task) : -1;

	if (!task || target < 0)
		return 0;
	struct xp_sys_thread *thread = bpf_task_storage_get(&threads, task, 0, 0);
	if (thread && (thread->flags & XP_SYS_THREAD_ENDED))
		return 0;
	if (!thread) {
		nothing.tid = xp_id_at_level(task);
		nothing.flags = (__u32)target << XP_SYS_TARGET_SHIFT;
		BPF_CORE_READ_STR_INTO(&nothing.name, task, comm);
		bpf_seq_write(ctx->meta->seq, &nothing, sizeof(nothing));
		return 0;
	}
	thread->tid = xp_id_at_level(task);
	BPF_CORE_READ_STR_INTO(&thread->name, task, comm);
	bpf_seq_write(ctx->meta->seq, thread, sizeof(*thread));
	return 0;
}
