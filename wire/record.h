/* SPDX-License-Identifier: Apache-2.0 */
/* Records that bpf/probe.bpf.c writes into its ring and engine/bpf_probe.c reads. All integers little endian, native alignment. */
#ifndef XP_WIRE_RECORD_H
#define XP_WIRE_RECORD_H

#include "wire/wire.h"

#define XP_SHAPE_FUNCTION_ENTRY 1
#define XP_SHAPE_FUNCTION_EXIT 2
#define XP_SHAPE_TRACEPOINT 3
#define XP_SHAPE_SYSCALL_ENTRY 4
#define XP_SHAPE_SYSCALL_EXIT 5
#define XP_SHAPE_MARKER 6 /* USDT */

#define XP_REC_KERNEL_RETURN 1 /* written by the kernel's return probe: sp is 8 above the slot of the return address */

/*
 * Cookie of a function or marker site, given at attach: what the program has to write, so that it needs no table.
 * site and then_site index the engine's points; then_site counts with XP_COOKIE_THEN_EXIT: an exit record follows at the same place.
 */
#define XP_COOKIE(site, then_site, shape, kind, flags) \
	((__u64)(site) | (__u64)(then_site) << 16 | (__u64)(shape) << 32 | (__u64)(kind) << 40 | (__u64)(flags) << 48)
#define XP_COOKIE_GOROUTINE 1 /* keep r14 */
#define XP_COOKIE_RETURN 2    /* kernel return probe */
#define XP_COOKIE_THEN_EXIT 4 /* a function of one instruction: its entry is its exit */

/* Kinds of probe with a cost of their own; index of the per-CPU counters. */
#define XP_COUNT_ENTRY 0   /* function or marker whose instruction the kernel emulates */
#define XP_COUNT_STEPPED 1 /* the same, single-stepped: dearer */
#define XP_COUNT_RETURN 2  /* kernel return probe */
#define XP_COUNT_MARKER 3
#define XP_COUNT_SYSCALL 4
#define XP_COUNT_TRACEPOINT 5
#define XP_COUNT_KINDS 6

/*
 * One CPU's counters of one kind. Written by bpf/ with atomic adds, since a probe may preempt another on the same CPU. Records in the
 * ring are counted by who reads them: the ring loses none, and its producer position proves it.
 */
struct xp_rec_counts {
	__u64 dropped; /* wanted a record, and the ring had no room */
	__u64 passed;  /* ran in the target and wanted no record */
};
XP_WIRE_SIZE(struct xp_rec_counts, 16);

/* Head of every record. Written by bpf/, ids as the tool sees them (bpf/filter.h). */
struct xp_rec_hdr {
	__u16 shape; /* XP_SHAPE_* */
	__u16 flags; /* XP_REC_* */
	__u32 site;  /* index of the engine's point; 0 for system calls, whose number tells it */
	__u64 t_ns;  /* CLOCK_MONOTONIC (bpf_ktime_get_ns) */
	__u32 pid;   /* thread group */
	__u32 tid;
	__u32 cpu;
	__u32 nr; /* system call number, else 0 */
};
XP_WIRE_SIZE(struct xp_rec_hdr, 32);

struct xp_rec_function {
	struct xp_rec_hdr hdr;
	__u64 sp;  /* stack pointer as read at the probe */
	__u64 key; /* goroutine pointer (r14) where the site asks for it, else 0 */
};
XP_WIRE_SIZE(struct xp_rec_function, 48);

struct xp_rec_syscall_entry {
	struct xp_rec_hdr hdr;
	__u64 args[6]; /* scalar registers, no pointer is followed */
};
XP_WIRE_SIZE(struct xp_rec_syscall_entry, 80);

struct xp_rec_syscall_exit {
	struct xp_rec_hdr hdr;
	__s64 result;
};
XP_WIRE_SIZE(struct xp_rec_syscall_exit, 40);

#endif
