/* SPDX-License-Identifier: Apache-2.0 */
/* Maps, globals and the kernel's names of sched.bpf.c; how a thread's time is booked. A thread's record is changed by one event at a time.
 */
#ifndef XP_BPF_SCHED_STATE_H
#define XP_BPF_SCHED_STATE_H

#include "python_walk.h"
#include "wire/sched.h"

#define ENOSYS 38
#define PF_EXITING 0x4
#define TASK_STOPPED_OR_TRACED 0xc
#define TASK_UNINTERRUPTIBLE 0x2

struct pt_regs___kernel {
	unsigned long ax, orig_ax, ip, sp, bp;
} XP_CORE;

struct sched_info {
	unsigned long pcount;
} XP_CORE;

struct task_struct___sched {
	struct sched_info sched_info; /* CONFIG_SCHED_INFO */
	unsigned int __state;	      /* since Linux 5.14, commit 2f064a59a11f; `state` before */
	unsigned int flags;
	unsigned int in_iowait : 1;
	int on_cpu;
} XP_CORE;

struct task_struct___old {
	long state;
} XP_CORE;

struct bpf_iter_meta {
	struct seq_file *seq;
} XP_CORE;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} XP_CORE;

const volatile __u64 xp_min_block_ns = 1000000;

volatile __u64 xp_start_ns;	      /* begin of the window; 0: it is not open. Written by the tool */
__s64 xp_stacks_left[XP_TARGETS_MAX]; /* stacks that may still be copied; the tool adds to it as time goes on */
struct xp_sched_lost xp_lost[XP_TARGETS_MAX];

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct xp_sched_thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 23);
} samples SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ended SEC(".maps");

/* Switches and exits of calls seen in the target, for the cost. */
struct xp_sched_runs {
	__u64 switches, exits;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct xp_sched_runs);
} runs SEC(".maps"); /* by target */

#endif
