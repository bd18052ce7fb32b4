// SPDX-License-Identifier: Apache-2.0
/* Next steps that collect something else about the same process. No state. */
#include "triage/command.h"

#include <string.h>

void xp_next_cpu_samples(const struct xp_triage_input *input, struct xp_findings *list, struct xp_finding *finding, uint32_t tid)
{
	const char *pid = xp_arena_fmt(list->arena, "%u", input->target.pid);
	const char *const words[] = { "xprobe", "measure", "--pid", pid, "--cpu-sample", "--duration-ms", "5000", NULL };
	const char *what = tid ? xp_arena_fmt(list->arena, "thread %u", tid) : "the process";

	if (input->can_sample)
		xp_next_action(list, finding, "collect_cpu_samples", what, words, "take CPU samples: they name the functions that run");
	else
		xp_next_action(list, finding, "collect_cpu_samples", what, NULL,
			       "take CPU samples of %s with a sampling profiler; this build of xprobe has none", what);
}

void xp_next_call(const struct xp_triage_input *input, struct xp_findings *list, struct xp_finding *finding, const char *call,
		  double per_second)
{
	static const char *const endless[] = { "rt_sigreturn", "exit", "exit_group" };

	for (size_t i = 0; i < XP_LEN(endless); i++)
		if (!strcmp(endless[i], call)) {
			xp_next_cpu_samples(input, list, finding, finding->tid);
			return;
		}
	xp_next_syscall(list, finding, &input->target, call, per_second);
}

void xp_next_off_cpu(const struct xp_triage_input *input, struct xp_findings *list, struct xp_finding *finding, uint32_t tid)
{
	const char *pid = xp_arena_fmt(list->arena, "%u", input->target.pid);
	const char *const words[] = { "xprobe", "measure", "--pid", pid, "--cpu-sample", "--off-cpu", "--duration-ms", "5000", NULL };
	const char *stack = xp_arena_fmt(list->arena, "/proc/%u/task/%u/stack", input->target.pid, tid);
	const char *const look[] = { "cat", stack, NULL };

	if (input->can_sample)
		xp_next_action(list, finding, "collect_off_cpu", NULL, words, "collect blocked stacks: they name the code that waits");
	else if (tid)
		xp_next_action(list, finding, "collect_off_cpu", stack, look, "look where in the kernel the thread waits (as root)");
	else
		xp_next_action(list, finding, "collect_off_cpu", NULL, NULL,
			       "collect blocked stacks; this build of xprobe has no --off-cpu");
}

void xp_next_triage_tree(const struct xp_triage_input *input, struct xp_findings *list, struct xp_finding *finding)
{
	const char *pid = xp_arena_fmt(list->arena, "%u", input->target.pid);
	const char *const tree[] = { "xprobe", "measure", "--pid", pid, "--tree", "--triage", "--duration-ms", "2000", NULL };

	xp_next_action(list, finding, "triage_tree", xp_arena_fmt(list->arena, "descendants of %s", pid), tree,
		       "triage the process and its descendants in one window");
}
