/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stack samples of one process or several. In: ticks of cpu-clock events, rodata set between open and load. Out: records of wire/sample.h
 * in one ring, per-CPU counters that account for every tick. Ticks of one CPU do not nest, so a CPU's scratch and counters are its own.
 */
#include "python_walk.h"

#include <linux/bpf_perf_event.h>

const volatile __u64 xp_wake_bytes; /* unread bytes in the ring from which on the tool is woken before its tick */
const volatile __u32 xp_by_name;    /* threads are chosen by name */

volatile __u32 xp_woken = 0; /* a wake-up is on its way; the tool clears it when it reads */
/* Of each target, while samples were wanted. */
__u32 xp_threads_started[XP_TARGETS_MAX];
__u32 xp_threads_ended[XP_TARGETS_MAX];
__u32 xp_children[XP_TARGETS_MAX]; /* processes that it forked */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} xp_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct xp_rec_sample_counts);
} xp_counts SEC(".maps"); /* by target; ticks in the first */

struct name {
	char text[16];
};

/* Names that the tool's filter refused. One that is not here is sent to it. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct name);
	__type(value, __u32);
} xp_unwanted SEC(".maps");

/* Python functions, by code object and mark, that were once on top of a stack. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, __u32);
} xp_python_leaves SEC(".maps");

static __always_inline bool is_unwanted(const char *comm)
{
	struct name name;

	if (!xp_by_name)
		return false;
	__builtin_memcpy(name.text, comm, sizeof(name.text));
	return bpf_map_lookup_elem(&xp_unwanted, &name);
}

/* Kernel addresses are the upper half; in a paravirtualized guest the code segment tells nothing. */
static __always_inline bool is_kernel(__u64 address)
{
	return (__s64)address < 0;
}

#define CALLS_MAX 1024

static __always_inline void take_registers(struct bpf_perf_event_data *ctx, struct xp_rec_sample *head)
{
	struct pt_regs *user;

	if (!is_kernel(PT_REGS_IP(&ctx->regs))) {
		head->ip = PT_REGS_IP(&ctx->regs);
		head->sp = PT_REGS_SP(&ctx->regs);
		head->bp = PT_REGS_FP(&ctx->regs);
		return;
	}
	user = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	head->flags |= XP_SAMPLE_IN_KERNEL;
	head->ip = PT_REGS_IP(user);
	head->sp = PT_REGS_SP(user);
	head->bp = PT_REGS_FP(user);
	/* Interrupts and faults leave -1 here. What of the selector is the same everywhere tells calls of the 64-bit table. */
	if (user->orig_rax < CALLS_MAX && (*(volatile __u16 *)&user->cs & 0xfff) == 0x33) {
		head->flags |= XP_SAMPLE_IN_CALL;
		head->nr = user->orig_rax;
	}
	/* Workers that the kernel runs for the process (io_uring) have never been in user space. */
	if (!head->sp)
		head->flags |= XP_SAMPLE_NO_USER;
}

static __always_inline void take_kernel_stack(struct bpf_perf_event_data *ctx, struct scratch *scratch)
{
	long bytes;

	if (!(scratch->head.flags & XP_SAMPLE_IN_KERNEL))
		return;
	bytes = bpf_get_stack(ctx, scratch->rest, KERNEL_BYTES, 0);
	if (bytes <= 0)
		scratch->head.flags |= XP_SAMPLE_KERNEL_LOST;
	else
		scratch->head.n_kernel = bytes / 8;
}

/* The name of a function that is made, called and dropped can be read only soon; one that was met before is known or goes on living. */
static __always_inline bool is_new_leaf(const struct scratch *scratch)
{
	const struct xp_rec_python_frame *leaf;
	__u64 at = (__u64)scratch->head.n_kernel * 8, key;
	__u32 met = 1;

	barrier_var(at); /* the bound must be seen on the offset itself */
	if (!scratch->head.n_python || at > KERNEL_BYTES)
		return false;
	leaf = (const struct xp_rec_python_frame *)(scratch->rest + at);
	key = leaf->code ^ (__u64)leaf->mark << 32;
	if (bpf_map_lookup_elem(&xp_python_leaves, &key))
		return false;
	bpf_map_update_elem(&xp_python_leaves, &key, &met, BPF_ANY);
	return true;
}

/*
 * A wake-up costs more than the rest of a sample, so the tool reads on a timer and is woken once when the ring fills faster than that, or
 * when there is something that it must not read late.
 */
static __always_inline void put(struct scratch *scratch, struct xp_rec_sample_counts *counts)
{
	__u64 flags = BPF_RB_NO_WAKEUP;
	__u64 size = RECORD_HEAD + scratch->head.n_kernel * 8 + scratch->head.n_python * sizeof(struct xp_rec_python_frame) +
		     scratch->head.stack_bytes;

	size = (size + 7) & ~7ull;
	if (size > RECORD_BYTES_MAX)
		size = RECORD_BYTES_MAX;
	scratch->head.size = size;
	if (!xp_woken && (is_new_leaf(scratch) || bpf_ringbuf_query(&xp_ring, BPF_RB_AVAIL_DATA) >= xp_wake_bytes)) {
		xp_woken = 1;
		flags = BPF_RB_FORCE_WAKEUP;
	}
	if (bpf_ringbuf_output(&xp_ring, scratch, size, flags))
		counts->ring_full++;
}

static __always_inline void take(struct bpf_perf_event_data *ctx, __u32 target, __u32 pid, __u32 tid, struct xp_rec_sample_counts *counts)
{
	struct scratch *scratch = scratch_of_cpu();

	if (!scratch)
		return;
	counts->emitted++;
	__builtin_memset(&scratch->head, 0, sizeof(scratch->head));
	bpf_get_current_comm(scratch->head.comm, sizeof(scratch->head.comm));
	if (is_unwanted(scratch->head.comm)) {
		counts->filtered++;
		return;
	}
	scratch->head.t_ns = bpf_ktime_get_ns();
	scratch->head.kind = XP_SAMPLE_CPU;
	scratch->head.pid = pid;
	scratch->head.tid = tid;
	take_registers(ctx, &scratch->head);
	take_kernel_stack(ctx, scratch);
	take_python(scratch, target);
	take_stack(scratch);
	counts->kernel += !!(scratch->head.flags & XP_SAMPLE_IN_KERNEL);
	counts->torn += scratch->head.python == XP_PYTHON_TORN;
	put(scratch, counts);
}

SEC("perf_event")
int xp_sample(struct bpf_perf_event_data *ctx)
{
	struct xp_rec_sample_counts *counts;
	__u32 pid, tid, target = 0;
	int index;

	if (xp_off)
		return 0;
	counts = bpf_map_lookup_elem(&xp_counts, &target);
	if (!counts)
		return 0;
	counts->ticks++;
	index = xp_which(&pid, &tid);
	if (index < 0)
		return 0;
	target = index;
	if (target)
		counts = bpf_map_lookup_elem(&xp_counts, &target);
	if (counts)
		take(ctx, target, pid, tid, counts);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(xp_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 pid, tid;
	int index = xp_which(&pid, &tid);

	if (index < 0)
		return 0;
	if (child->tgid == parent->tgid)
		__sync_fetch_and_add(&xp_threads_started[index & (XP_TARGETS_MAX - 1)], 1);
	else
		__sync_fetch_and_add(&xp_children[index & (XP_TARGETS_MAX - 1)], 1);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(xp_exit, struct task_struct *task)
{
	__u32 pid, tid;
	int index = xp_which(&pid, &tid);

	if (index >= 0)
		__sync_fetch_and_add(&xp_threads_ended[index & (XP_TARGETS_MAX - 1)], 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
