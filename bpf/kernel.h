/* SPDX-License-Identifier: Apache-2.0 */
/* The few kernel structs we read, by CO-RE: only the members named here, relocated at load. Kernel differences live in this file only. */
#ifndef XP_BPF_KERNEL_H
#define XP_BPF_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/bpf.h>
#include <linux/types.h>

#include <asm/ptrace.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define XP_CORE __attribute__((preserve_access_index))

struct ns_common {
	unsigned int inum;
} XP_CORE;

struct pid_namespace {
	struct ns_common ns;
	unsigned int level;
} XP_CORE;

struct upid {
	int nr;
	struct pid_namespace *ns;
} XP_CORE;

struct pid {
	unsigned int level;
	struct upid numbers[1];
} XP_CORE;

struct thread_info {
	__u32 status; /* TS_COMPAT is bit 1: arch/x86/include/asm/thread_info.h */
} XP_CORE;

struct thread_struct {
	unsigned long fsbase; /* as set by clone or arch_prctl */
} XP_CORE;

struct task_struct {
	struct thread_info thread_info;
	struct thread_struct thread;
	int pid, tgid;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	char comm[16];
} XP_CORE;

#define XP_TS_COMPAT 0x2

#endif
