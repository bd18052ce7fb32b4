/* SPDX-License-Identifier: Apache-2.0 */
/* Maps, globals and numbers of syscalls.bpf.c. A thread's open and interrupted calls lie in its task storage and are touched by it alone.
 */
#ifndef XP_BPF_SYSCALLS_STATE_H
#define XP_BPF_SYSCALLS_STATE_H

#include "targets.h"
#include "wire/syscalls.h"

#define NR_RT_SIGRETURN 15
#define NR_RESTART_SYSCALL 219
#define NR_URETPROBE 335 /* since Linux 6.11 */
#define NR_UPROBE 336	 /* since Linux 6.17 */
#define NR_32_RESTART_SYSCALL 0
#define NR_32_SIGRETURN 119
#define NR_32_RT_SIGRETURN 173

#define ENOSYS 38
#define EINTR 4

struct pt_regs___kernel {
	unsigned long ax, orig_ax, ip, sp;
} XP_CORE;

struct task_struct___signal {
	unsigned long sas_ss_sp, sas_ss_size;
} XP_CORE;

struct bpf_iter_meta {
	struct seq_file *seq;
} XP_CORE;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} XP_CORE;

const volatile __u32 xp_max_inflight = 1024;
const volatile struct xp_sys_cell xp_empty_cell;

volatile __u32 xp_counting; /* the window is open. Written by the tool */
__u32 xp_threads;	    /* running number of the last thread */
__u32 xp_inflight;	    /* slots in use */
/* What threads counted whose record found no room, added up: the books must close without them. */
struct xp_sys_thread xp_lost[XP_TARGETS_MAX];
__u32 xp_untracked; /* a thread got no storage: exits without an entry may be its own */

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct xp_sys_thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct xp_sys_key);
	__type(value, struct xp_sys_cell);
} cells SEC(".maps");

/* (number, compat << 32) of every call seen; its size is the group capacity. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u32);
} groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ended SEC(".maps");

/* Calls seen at their exit, for the cost. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} calls SEC(".maps"); /* by target */

#endif
