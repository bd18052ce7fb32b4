/* SPDX-License-Identifier: Apache-2.0 */
/* Depth of the caller's PID namespace. Run once by BPF_PROG_TEST_RUN in the tool's own context (engine/bpf_common.c); never attached. */
#include "kernel.h"

SEC("raw_tp")
int xp_level(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct pid *pid = BPF_CORE_READ(task, thread_pid);

	return pid ? (int)BPF_CORE_READ(pid, level) : -1;
}

char LICENSE[] SEC("license") = "GPL";
