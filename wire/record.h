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
#define XP_SHAPE_MARKER 6	/* USDT */
#define XP_SHAPE_FORK 7		/* the target made a child process; aux = child's tgid */

#define XP_REC_COMPAT 1		/* 32-bit system call */
#define XP_REC_KERNEL_RETURN 2	/* written by the kernel's return probe: sp is 8 above the slot of the return address */

/* Head of every record. Written by bpf/, ids as the tool sees them (bpf/filter.h). */
struct xp_rec_hdr {
	__u16 shape;	/* XP_SHAPE_* */
	__u16 flags;	/* XP_REC_* */
	__u32 site;	/* cookie of the site: index into the engine's table */
	__u64 t_ns;	/* CLOCK_MONOTONIC (bpf_ktime_get_ns) */
	__u32 pid;	/* thread group */
	__u32 tid;
	__u32 cpu;
	__u32 nr;	/* system call number, else 0 */
};
XP_WIRE_SIZE(struct xp_rec_hdr, 32);

struct xp_rec_function {
	struct xp_rec_hdr hdr;
	__u64 sp;	/* stack pointer as read at the probe */
	__u64 key;	/* goroutine pointer (r14) where the site asks for it, else 0 */
};
XP_WIRE_SIZE(struct xp_rec_function, 48);

struct xp_rec_syscall_entry {
	struct xp_rec_hdr hdr;
	__u64 args[6];	/* scalar registers, no pointer is followed */
};
XP_WIRE_SIZE(struct xp_rec_syscall_entry, 80);

struct xp_rec_syscall_exit {
	struct xp_rec_hdr hdr;
	__s64 result;
};
XP_WIRE_SIZE(struct xp_rec_syscall_exit, 40);

#endif
