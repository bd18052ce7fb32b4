/* SPDX-License-Identifier: Apache-2.0 */
/* First statement of every program: is this the target? Configuration is rodata, set between open and load (engine/bpf_common.c). */
#ifndef XP_BPF_FILTER_H
#define XP_BPF_FILTER_H

#include "kernel.h"

const volatile __u32 xp_tgid;	  /* target's thread group as the tool sees it */
const volatile __u32 xp_ns_level; /* depth of the tool's PID namespace: 0 = initial, where the kernel's own ids are the tool's */
volatile __u32 xp_off = 1;	  /* stop switch in .data: 1 = keep nothing. Written by the tool */

/* Id of a task in the tool's namespace; 0 when the task is not visible there. include/linux/pid.h: numbers[] is indexed by level. */
static __always_inline __u32 xp_id_at_level(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	struct upid upid = {};
	unsigned int level = xp_ns_level;

	if (!pid || BPF_CORE_READ(pid, level) < level || level > 32)
		return 0;
	/* One element is sizeof(struct upid) in the running kernel. */
	bpf_core_read(&upid.nr, sizeof(upid.nr),
		      (void *)pid + bpf_core_field_offset(struct pid, numbers) + level * bpf_core_type_size(struct upid) +
			      bpf_core_field_offset(struct upid, nr));
	return upid.nr;
}

/* True for the target's threads while events are wanted; fills the ids as the tool sees them. */
static __always_inline bool xp_is_target(__u32 *pid, __u32 *tid)
{
	__u64 id = bpf_get_current_pid_tgid();

	if (!xp_ns_level) {
		if ((__u32)(id >> 32) != xp_tgid || xp_off)
			return false;
		*pid = id >> 32;
		*tid = (__u32)id;
		return true;
	}
	if (xp_off)
		return false;
	struct task_struct *task = (void *)bpf_get_current_task();
	*pid = xp_id_at_level(BPF_CORE_READ(task, group_leader));
	if (*pid != xp_tgid)
		return false;
	*tid = xp_id_at_level(task);
	return true;
}

#endif
