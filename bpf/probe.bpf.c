/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact endpoints: functions, markers, system calls, tracepoints of one process. In: rodata set between open and load, cookies given at
 * attach. Out: records of wire/record.h in one ring, per-CPU counters. Every program is thin over one handler; the filter comes first.
 */
#include "filter.h"
#include "wire/record.h"

#define SYSCALL_WORDS 8 /* numbers 0..511; x32 calls have bit 30 and fall outside */
#define TRACEPOINT_SLOTS 16

/* include/linux/errno.h: -ERESTARTSYS .. -ERESTART_RESTARTBLOCK never reach user space; the call is continued or becomes EINTR. */
#define RESTART_FIRST (-512)
#define RESTART_LAST (-516)
#define RESULT_EINTR (-4)
#define NR_RT_SIGRETURN 15
#define NR_RESTART_SYSCALL 219

const volatile __u64 xp_enter_wanted[SYSCALL_WORDS];
const volatile __u64 xp_exit_wanted[SYSCALL_WORDS];
const volatile __u32 xp_follow_restarts;
const volatile __u32 xp_tracepoint_site[TRACEPOINT_SLOTS];
const volatile __u64 xp_wake_bytes; /* unread bytes in the ring from which on the tool is woken before its tick */

volatile __u32 xp_woken = 0;	 /* a wake-up is on its way; the tool clears it when it reads */
volatile __u32 xp_floor_pid = 0; /* the tool itself while it measures what a probe costs, else 0 */
volatile __u32 xp_children = 0;	 /* processes that the target forked while events were wanted */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} xp_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, XP_COUNT_KINDS);
	__type(key, __u32);
	__type(value, struct xp_rec_counts);
} xp_counts SEC(".maps");

/* A thread whose wanted call ended with a restart code: what the kernel does next belongs to that call. */
struct restart {
	__u32 pending;
	__u32 in_sigreturn;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct restart);
} xp_restarts SEC(".maps");

struct who {
	__u32 pid, tid;
};

/* The target while its window is open; the tool itself while it measures the floor. */
static __always_inline bool wanted(struct who *who)
{
	if (xp_is_target(&who->pid, &who->tid))
		return true;
	if (!xp_floor_pid)
		return false;
	struct task_struct *task = (void *)bpf_get_current_task();

	who->pid = xp_id_at_level(BPF_CORE_READ(task, group_leader));
	who->tid = xp_id_at_level(task);
	return who->pid == xp_floor_pid;
}

static __always_inline struct xp_rec_counts *counts_of(__u32 kind)
{
	return bpf_map_lookup_elem(&xp_counts, &kind);
}

static __always_inline void pass(__u32 kind)
{
	struct xp_rec_counts *counts = counts_of(kind);

	if (counts)
		__sync_fetch_and_add(&counts->passed, 1);
}

/* Room for one record. What gets none is counted here, what does is counted by the reader: the ring itself loses nothing in between. */
static __always_inline void *reserve(__u64 size, __u32 kind)
{
	void *record = bpf_ringbuf_reserve(&xp_ring, size, 0);
	struct xp_rec_counts *counts;

	if (record)
		return record;
	counts = counts_of(kind);
	if (counts)
		__sync_fetch_and_add(&counts->dropped, 1);
	return NULL;
}

/* A wake-up costs more than the rest of an event, so the tool reads on a timer and is woken once when the ring fills faster than that. */
static __always_inline void submit(void *record)
{
	__u64 flags = BPF_RB_NO_WAKEUP;

	if (bpf_ringbuf_query(&xp_ring, BPF_RB_AVAIL_DATA) >= xp_wake_bytes && !xp_woken) {
		xp_woken = 1;
		flags = BPF_RB_FORCE_WAKEUP;
	}
	bpf_ringbuf_submit(record, flags);
}

static __always_inline void fill(struct xp_rec_hdr *hdr, const struct who *who, __u16 shape, __u32 site, __u64 t_ns)
{
	hdr->shape = shape;
	hdr->flags = 0;
	hdr->site = site;
	hdr->t_ns = t_ns;
	hdr->pid = who->pid;
	hdr->tid = who->tid;
	hdr->cpu = bpf_get_smp_processor_id();
	hdr->nr = 0;
}

static __always_inline struct xp_rec_function *reserve_function(__u64 cookie)
{
	return reserve(sizeof(struct xp_rec_function), (cookie >> 40) & 0xff);
}

static __always_inline void emit_function(struct pt_regs *ctx, struct xp_rec_function *rec, __u64 cookie)
{
	__u16 flags = cookie >> 48;

	rec->hdr.flags = flags & XP_COOKIE_RETURN ? XP_REC_KERNEL_RETURN : 0;
	rec->sp = PT_REGS_SP(ctx);
	rec->key = flags & XP_COOKIE_GOROUTINE ? ctx->r14 : 0;
	submit(rec);
}

/* An entry takes its time last and an exit first, so that as little of ourselves as possible lies between them. */
static __always_inline void emit_entry(struct pt_regs *ctx, const struct who *who, __u64 cookie)
{
	struct xp_rec_function *rec = reserve_function(cookie);

	if (!rec)
		return;
	fill(&rec->hdr, who, (cookie >> 32) & 0xff, cookie & 0xffff, bpf_ktime_get_ns());
	emit_function(ctx, rec, cookie);
}

static __always_inline void emit_exit(struct pt_regs *ctx, const struct who *who, __u64 cookie, __u32 site)
{
	__u64 t_ns = bpf_ktime_get_ns();
	struct xp_rec_function *rec = reserve_function(cookie);

	if (!rec)
		return;
	fill(&rec->hdr, who, XP_SHAPE_FUNCTION_EXIT, site, t_ns);
	emit_function(ctx, rec, cookie);
}

SEC("uprobe")
int xp_function(struct pt_regs *ctx)
{
	struct who who;
	__u64 cookie;

	if (!wanted(&who))
		return 0;
	cookie = bpf_get_attach_cookie(ctx);
	if (((cookie >> 32) & 0xff) == XP_SHAPE_FUNCTION_EXIT)
		emit_exit(ctx, &who, cookie, cookie & 0xffff);
	else
		emit_entry(ctx, &who, cookie);
	if ((cookie >> 48) & XP_COOKIE_THEN_EXIT)
		emit_exit(ctx, &who, cookie, (cookie >> 16) & 0xffff);
	return 0;
}

static __always_inline bool has_bit(const volatile __u64 *words, __u64 nr)
{
	return nr < SYSCALL_WORDS * 64 && (words[(nr >> 6) & (SYSCALL_WORDS - 1)] >> (nr & 63)) & 1;
}

/* 32-bit calls have numbers of another table and never match (arch/x86/include/asm/thread_info.h TS_COMPAT). */
static __always_inline bool is_compat(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return task->thread_info.status & XP_TS_COMPAT;
}

static __always_inline struct restart *find_restart(__u64 flags)
{
	return xp_follow_restarts ? bpf_task_storage_get(&xp_restarts, bpf_get_current_task_btf(), NULL, flags) : NULL;
}

/* At entry: is this number one that continues a call of ours? */
static __always_inline bool continues(__u64 nr)
{
	struct restart *restart;

	if (nr != NR_RESTART_SYSCALL && nr != NR_RT_SIGRETURN)
		return false;
	restart = find_restart(0);
	if (!restart || !restart->pending)
		return false;
	restart->in_sigreturn = nr == NR_RT_SIGRETURN;
	return nr == NR_RESTART_SYSCALL;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(xp_sys_enter, struct pt_regs *regs, long id)
{
	struct xp_rec_syscall_entry *rec;
	__u64 nr = id;
	struct who who;

	if (!wanted(&who))
		return 0;
	if (is_compat() || (!has_bit(xp_enter_wanted, nr) && !continues(nr) && !xp_floor_pid)) {
		pass(XP_COUNT_SYSCALL);
		return 0;
	}
	rec = reserve(sizeof(*rec), XP_COUNT_SYSCALL);
	if (!rec)
		return 0;
	rec->args[0] = regs->rdi;
	rec->args[1] = regs->rsi;
	rec->args[2] = regs->rdx;
	rec->args[3] = regs->r10;
	rec->args[4] = regs->r8;
	rec->args[5] = regs->r9;
	fill(&rec->hdr, &who, XP_SHAPE_SYSCALL_ENTRY, 0, bpf_ktime_get_ns());
	rec->hdr.nr = nr;
	submit(rec);
	return 0;
}

static __always_inline bool is_restart_code(long result)
{
	return result <= RESTART_FIRST && result >= RESTART_LAST;
}

/*
 * Which call ends here, or -1 for none that anybody wants. orig_ax is the number that was entered, but -1 behind rt_sigreturn and
 * behind the two calls that uprobes themselves make (335, 336); only a pending restart tells the first from the others.
 */
static __always_inline long ended_call(long nr, long result)
{
	struct restart *restart;

	if (nr == -1 || nr == NR_RESTART_SYSCALL) {
		restart = find_restart(0);
		if (!restart || !restart->pending)
			return -1;
		if (nr == NR_RESTART_SYSCALL) {
			restart->pending = is_restart_code(result);
			return nr;
		}
		if (!restart->in_sigreturn)
			return -1;
		restart->in_sigreturn = 0;
		if (result != RESULT_EINTR)
			return -1;
		restart->pending = 0;
		return NR_RT_SIGRETURN;
	}
	if (!has_bit(xp_exit_wanted, nr))
		return xp_floor_pid ? nr : -1;
	restart = find_restart(is_restart_code(result) ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	if (restart)
		restart->pending = is_restart_code(result);
	return nr;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(xp_sys_exit, struct pt_regs *regs, long result)
{
	__u64 t_ns = bpf_ktime_get_ns();
	struct xp_rec_syscall_exit *rec;
	struct who who;
	long nr;

	if (!wanted(&who))
		return 0;
	nr = is_compat() ? -1 : ended_call(regs->orig_rax, result);
	if (nr < 0) {
		pass(XP_COUNT_SYSCALL);
		return 0;
	}
	rec = reserve(sizeof(*rec), XP_COUNT_SYSCALL);
	if (!rec)
		return 0;
	fill(&rec->hdr, &who, XP_SHAPE_SYSCALL_EXIT, 0, t_ns);
	rec->hdr.nr = nr;
	rec->result = result;
	submit(rec);
	return 0;
}

static __always_inline int emit_tracepoint(__u32 site)
{
	struct xp_rec_hdr *rec;
	struct who who;

	if (!wanted(&who))
		return 0;
	rec = reserve(sizeof(*rec), XP_COUNT_TRACEPOINT);
	if (!rec)
		return 0;
	fill(rec, &who, XP_SHAPE_TRACEPOINT, site, bpf_ktime_get_ns());
	submit(rec);
	return 0;
}

/* Raw tracepoints carry a cookie only from Linux 6.10 on, so each slot is a program of its own. */
#define RAW_TRACEPOINT(slot)                                      \
	SEC("raw_tp")                                             \
	int xp_raw_##slot(void *ctx)                              \
	{                                                         \
		return emit_tracepoint(xp_tracepoint_site[slot]); \
	}

RAW_TRACEPOINT(0)
RAW_TRACEPOINT(1)
RAW_TRACEPOINT(2)
RAW_TRACEPOINT(3)
RAW_TRACEPOINT(4)
RAW_TRACEPOINT(5)
RAW_TRACEPOINT(6)
RAW_TRACEPOINT(7)
RAW_TRACEPOINT(8)
RAW_TRACEPOINT(9)
RAW_TRACEPOINT(10)
RAW_TRACEPOINT(11)
RAW_TRACEPOINT(12)
RAW_TRACEPOINT(13)
RAW_TRACEPOINT(14)
RAW_TRACEPOINT(15)

/* Trace events without a raw tracepoint of their name, the per-call ones of category `syscalls`. */
SEC("tracepoint")
int xp_tracepoint(void *ctx)
{
	return emit_tracepoint((__u32)bpf_get_attach_cookie(ctx));
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(xp_fork, struct task_struct *parent, struct task_struct *child)
{
	struct who who;

	if (!wanted(&who) || child->tgid == parent->tgid)
		return 0;
	__sync_fetch_and_add(&xp_children, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
