/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the threads of one process, or several, wait. In: sched_switch, wake-ups, sys_exit, sched_process_exit. Out: a record a thread, and
 * a sample with the user stack at the end of each long blocking call: there the registers are those of the call, and short blocks have cost
 * no stack.
 *
 * From attach on states are followed; from xp_start_ns on they are booked. So at the window's start it is known what each thread does.
 */
#include "sched_book.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline struct xp_sched_lost *lost_of(__u32 target)
{
	return &xp_lost[target & (XP_TARGETS_MAX - 1)];
}

static __always_inline struct xp_sched_thread *thread_of(struct task_struct *task, int target, __u64 now)
{
	struct xp_sched_thread *thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!thread) {
		if (xp_start_ns)
			__sync_fetch_and_add(&lost_of(target)->no_storage, 1);
		return NULL;
	}
	if (!thread->tid) {
		thread->tid = xp_ns_level ? xp_id_at_level(task) : (__u32)task->pid;
		thread->target = target;
		thread->born_ns = thread->since_ns = now;
	}
	return thread;
}

static __always_inline void leave_cpu(struct task_struct *task, int target, bool preempted, __u64 now)
{
	struct xp_sched_thread *thread = thread_of(task, target, now);
	unsigned int state = preempted ? 0 : state_of(task);

	if (!thread || thread->state == XP_SCHED_ENDED)
		return;
	thread->switches++;
	if (!state) {
		turn(thread, XP_SCHED_RUNNABLE, now);
		return;
	}
	turn(thread, XP_SCHED_BLOCKED, now);
	thread->place = place_of(task, state);
	thread->runs = runs_of(task);
}

static __always_inline void come_to_cpu(struct task_struct *task, int target, __u64 now)
{
	struct xp_sched_thread *thread = thread_of(task, target, now);

	if (thread && thread->state != XP_SCHED_ENDED)
		turn(thread, XP_SCHED_RUNNING, now);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(xp_switch, bool preempted, struct task_struct *prev, struct task_struct *next)
{
	int from, to;

	if (xp_off)
		return 0;
	from = xp_index_of_task(prev);
	to = xp_index_of_task(next);
	if (from < 0 && to < 0)
		return 0;

	__u64 now = bpf_ktime_get_ns();
	__u32 payer = from >= 0 ? from : to;
	struct xp_sched_runs *seen = bpf_map_lookup_elem(&runs, &payer);

	if (seen)
		seen->switches++;
	if (from >= 0)
		leave_cpu(prev, from, preempted, now);
	if (to >= 0)
		come_to_cpu(next, to, now);
	return 0;
}

static __always_inline int wake(struct task_struct *task)
{
	int target = xp_off ? -1 : xp_index_of_task(task);

	if (target < 0)
		return 0;

	__u64 now = bpf_ktime_get_ns();
	struct xp_sched_thread *thread = thread_of(task, target, now);

	/* A wake-up may come to a task that has not left its CPU yet. */
	if (thread && thread->state == XP_SCHED_BLOCKED)
		turn(thread, XP_SCHED_RUNNABLE, now);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(xp_wakeup, struct task_struct *task)
{
	return wake(task);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(xp_wakeup_new, struct task_struct *task)
{
	int target = xp_off ? -1 : xp_index_of_task(task);

	if (target < 0)
		return 0;

	struct xp_sched_thread *thread = thread_of(task, target, bpf_ktime_get_ns());

	if (thread) {
		thread->state = XP_SCHED_RUNNABLE;
		thread->born = 1;
	}
	return 0;
}

static __always_inline int put_sample(struct scratch *scratch)
{
	__u64 size = RECORD_HEAD + scratch->head.n_python * sizeof(struct xp_rec_python_frame) + scratch->head.stack_bytes;

	size = (size + 7) & ~7ull;
	if (size > RECORD_BYTES_MAX)
		size = RECORD_BYTES_MAX;
	scratch->head.size = size;
	return bpf_ringbuf_output(&samples, scratch, size, BPF_RB_NO_WAKEUP);
}

/*
 * The stack of a call that has just ended. False: it is lost, the time is not. The scratch record of the CPU is ours until it is put: the
 * kernel calls programs of tracepoints with preemption off (include/trace/bpf_probe.h, and the tracepoint itself before 6.13), and no
 * program runs twice at a time on a CPU.
 */
static __noinline int take_sample(struct xp_sched_thread *thread, __u32 pid)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs___kernel *regs = (void *)bpf_task_pt_regs(task);
	struct scratch *scratch = scratch_of_cpu();

	if (!scratch || !thread)
		return 0;
	if (__sync_fetch_and_add(&xp_stacks_left[thread->target & (XP_TARGETS_MAX - 1)], -1) <= 0) {
		__sync_fetch_and_add(&lost_of(thread->target)->over_budget, 1);
		return 0;
	}
	__builtin_memset(&scratch->head, 0, sizeof(scratch->head));
	scratch->head.kind = XP_SAMPLE_BLOCK;
	scratch->head.t_ns = bpf_ktime_get_ns();
	scratch->head.pid = pid;
	scratch->head.tid = thread->tid;
	scratch->head.ip = regs->ip;
	scratch->head.sp = regs->sp;
	scratch->head.bp = regs->bp;
	scratch->head.block_ns = thread->call_ns;
	scratch->head.nr = thread->place.nr;
	scratch->head.where = thread->place.where;
	scratch->head.compat = thread->place.compat;
	bpf_get_current_comm(scratch->head.comm, sizeof(scratch->head.comm));
	take_python(scratch, thread->target);
	take_stack(scratch);
	if (put_sample(scratch)) {
		__sync_fetch_and_add(&lost_of(thread->target)->ring_full, 1);
		return 0;
	}
	return 1;
}

/* The call is over: its blocks become one, with a stack or as a count. */
static __noinline int end_call(struct xp_sched_thread *thread, __u32 pid)
{
	if (!thread)
		return 0;
	thread->blocks++;
	if (thread->call_ns >= xp_min_block_ns && take_sample(thread, pid)) {
		thread->sampled++;
		thread->sampled_ns += thread->call_ns;
	} else {
		thread->stacks_lost += thread->call_ns >= xp_min_block_ns;
		book(thread, &thread->place, thread->call_ns);
	}
	thread->call_ns = 0;
	thread->call_blocks = 0;
	return 0;
}

SEC("tp_btf/sys_exit")
int xp_sys_exit(__u64 *ctx)
{
	__u32 pid, tid, target;
	int index = xp_which(&pid, &tid);

	if (index < 0)
		return 0;
	target = index;

	struct xp_sched_thread *thread = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);
	struct xp_sched_runs *seen = bpf_map_lookup_elem(&runs, &target);

	if (seen)
		seen->exits++;
	if (thread && thread->call_blocks)
		end_call(thread, pid);
	return 0;
}

static __noinline int lose(const struct xp_sched_thread *thread)
{
	if (!thread)
		return 0;

	struct xp_sched_lost *lost = lost_of(thread->target);

	__sync_fetch_and_add(&lost->threads, 1);
	__sync_fetch_and_add(&lost->blocks, thread->blocks - thread->sampled);
	for (int i = 0; i < 3; i++)
		__sync_fetch_and_add(&lost->ns[i], thread->ns[i]);
	__sync_fetch_and_sub(&lost->ns[XP_SCHED_BLOCKED], thread->sampled_ns);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int xp_thread_exit(__u64 *ctx)
{
	__u32 pid, tid;

	if (xp_which(&pid, &tid) < 0)
		return 0;

	struct xp_sched_thread *thread = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);

	if (!thread || thread->state == XP_SCHED_ENDED)
		return 0;
	/* Killed inside the call: it has no exit. */
	if (thread->call_blocks)
		end_call(thread, pid);
	turn(thread, XP_SCHED_ENDED, bpf_ktime_get_ns());
	thread->ended_ns = thread->since_ns;
	thread->tid = tid; /* an exec by another thread than the first gives it the first one's id */
	bpf_get_current_comm(thread->name, sizeof(thread->name));
	if (xp_start_ns && bpf_ringbuf_output(&ended, thread, sizeof(*thread), BPF_RB_NO_WAKEUP))
		lose(thread);
	return 0;
}

/* Run once behind the attach: what each thread does now. An event that comes first knows better. */
SEC("iter/task")
int xp_adopt(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	int target = task ? xp_index_of_task(task) : -1;

	if (!task || target < 0 || bpf_task_storage_get(&threads, task, 0, 0))
		return 0;

	struct xp_sched_thread *thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	unsigned int state = state_of(task);

	if (!thread || thread->tid)
		return 0;
	thread->born_ns = thread->since_ns = bpf_ktime_get_ns();
	if (state) {
		thread->place = place_of(task, state);
		thread->runs = runs_of(task);
		thread->state = XP_SCHED_BLOCKED;
	} else {
		thread->state = ((struct task_struct___sched *)task)->on_cpu ? XP_SCHED_RUNNING : XP_SCHED_RUNNABLE;
	}
	thread->target = target;
	thread->tid = xp_id_at_level(task);
	return 0;
}

/* Run once behind the detach: every thread that lives. */
SEC("iter/task")
int xp_list(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task || xp_index_of_task(task) < 0)
		return 0;

	struct xp_sched_thread *thread = bpf_task_storage_get(&threads, task, 0, 0);

	if (!thread || thread->state == XP_SCHED_ENDED)
		return 0;
	thread->tid = xp_id_at_level(task);
	BPF_CORE_READ_STR_INTO(&thread->name, task, comm);
	bpf_seq_write(ctx->meta->seq, thread, sizeof(*thread));
	return 0;
}
