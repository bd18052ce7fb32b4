/* SPDX-License-Identifier: Apache-2.0 */
/* What bpf/syscalls.bpf.c counts and engine/bpf_syscalls.c reads: one cell a thread and call, one record a thread. Native alignment. */
#ifndef XP_WIRE_SYSCALLS_H
#define XP_WIRE_SYSCALLS_H

#include "wire/wire.h"

#define XP_SYS_BUCKETS 44 /* log2 of ns; 2^43 ns is longer than any window */
#define XP_SYS_ERRNOS 12  /* different errors told apart in one cell; more are counted in errno_other */
#define XP_SYS_PENDING 4  /* interrupted calls below nested signal handlers */
#define XP_SYS_NATIVE 512 /* native numbers that the bit set of a thread covers */

#define XP_SYS_OPEN 1	  /* the thread is inside the call */
#define XP_SYS_COUNTED 2  /* entered in the window: it is on the books until it is matched, dropped or without return */
#define XP_SYS_COMPAT 4	  /* 32-bit call */
#define XP_SYS_DROPPED 8  /* booked as dropped at its entry; the exit is swallowed */
#define XP_SYS_OWN 16	  /* made by the kernel for a probe: in no group */
#define XP_SYS_RETURN 32  /* rt_sigreturn: whether it is a call of its own shows at its exit */
#define XP_SYS_SLOT 64	  /* holds one of max_inflight */
#define XP_SYS_BEFORE 128 /* nothing of the thread was seen yet: an exit belongs to an entry from before the probes */

/* One call of one thread, from its entry on. */
struct xp_sys_call {
	__u64 start_ns;	   /* CLOCK_MONOTONIC; 0: before the probes came */
	__u64 end_ns;	   /* of its last exit with a restart code; pending calls only */
	__u64 ip, sp;	   /* user registers at that exit: the kernel restarts the call with the same ones */
	__u32 nr;	   /* with flags one aligned word, see bpf/syscalls.bpf.c */
	__u32 flags;	   /* XP_SYS_* */
	__u32 interrupted; /* exits with a restart code so far */
	__u32 pad;
};
XP_WIRE_SIZE(struct xp_sys_call, 48);

#define XP_SYS_THREAD_ENDED 1
#define XP_SYS_THREAD_ODD 2   /* has cells outside the bit set: compat or unknown numbers */
#define XP_SYS_TARGET_SHIFT 8 /* from this bit of flags on: index of the thread's process */
#define XP_SYS_TARGET_BITS 6  /* the lowest ones of a running number: the same index */

/*
 * A thread, in its task storage, written by itself alone; copied into the ring when it ends, listed by the iterator when it lives.
 * entries = matched + no_return + dropped_* + counted calls that are open or pending.
 */
struct xp_sys_thread {
	__u32 thread;  /* running number, unlike tid never used again; 0: nothing of it was seen */
	__u32 tid;     /* as the tool sees it */
	char name[16]; /* at its end, or when it was listed */
	__u64 entries, matched, unmatched, no_return;
	__u64 dropped_inflight, dropped_table, dropped_missed;
	__u64 own_probe;
	__u64 open_at_start_ended; /* calls open when the window began, ended in it */
	struct xp_sys_call open;
	struct xp_sys_call pending[XP_SYS_PENDING]; /* oldest first */
	__u32 n_pending;
	__u32 flags;			  /* XP_SYS_THREAD_* */
	__u64 native[XP_SYS_NATIVE / 64]; /* numbers that have a cell */
};
XP_WIRE_SIZE(struct xp_sys_thread, 408);
_Static_assert((__builtin_offsetof(struct xp_sys_thread, open) + __builtin_offsetof(struct xp_sys_call, nr)) % 8 == 0, "one word");

struct xp_sys_key {
	__u32 thread;
	__u32 nr;
	__u32 compat;
};
XP_WIRE_SIZE(struct xp_sys_key, 12);

struct xp_sys_errno {
	__u64 n;
	__u32 errnum; /* 0: unused */
	__u32 pad;
};
XP_WIRE_SIZE(struct xp_sys_errno, 16);

/* Completed calls of one thread and number. */
struct xp_sys_cell {
	__u64 count, total_ns, min_ns, max_ns;
	__u64 errors, interrupted, errno_other;
	struct xp_sys_errno errnos[XP_SYS_ERRNOS];
	__u64 buckets[XP_SYS_BUCKETS];
};
XP_WIRE_SIZE(struct xp_sys_cell, 600);

#endif
