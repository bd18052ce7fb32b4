/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several targets in one program, told apart by an index. One target is a constant and costs no look-up; several are a table, filled
 * between load and attach (engine/bpf_common.c).
 */
#ifndef XP_BPF_TARGETS_H
#define XP_BPF_TARGETS_H

#include "filter.h"
#include "wire/targets.h"

const volatile __u32 xp_several; /* the targets are those of xp_targets; xp_tgid means nothing */

/* Thread group as the tool sees it -> index. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} xp_targets SEC(".maps");

/* -1: no target. */
static __always_inline int xp_index_of(__u32 tgid)
{
	__u32 *index;

	if (!xp_several)
		return tgid == xp_tgid ? 0 : -1;
	index = bpf_map_lookup_elem(&xp_targets, &tgid);
	return index ? (int)(*index & (XP_TARGETS_MAX - 1)) : -1;
}

/* Of a task that the verifier knows as one. */
static __always_inline int xp_index_of_task(struct task_struct *task)
{
	if (!xp_ns_level)
		return xp_index_of((__u32)task->tgid);
	return xp_index_of(xp_id_at_level(BPF_CORE_READ(task, group_leader)));
}

/* As xp_is_target, for several: the index of the current thread's target, or -1. */
static __always_inline int xp_which(__u32 *pid, __u32 *tid)
{
	__u64 id = bpf_get_current_pid_tgid();
	int index;

	if (xp_off)
		return -1;
	if (!xp_ns_level) {
		*pid = id >> 32;
		*tid = (__u32)id;
		return xp_index_of(*pid);
	}
	struct task_struct *task = (void *)bpf_get_current_task();
	*pid = xp_id_at_level(BPF_CORE_READ(task, group_leader));
	index = xp_index_of(*pid);
	if (index >= 0)
		*tid = xp_id_at_level(task);
	return index;
}

#endif
