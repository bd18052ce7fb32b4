// SPDX-License-Identifier: Apache-2.0
/* Page faults that had to read from a disk. */
#include "triage/blocked.h"
#include "triage/own_code.h"
#include "triage/rule.h"

#define FAULTS_PER_SECOND 100

/* Blocked time of one thread in page faults: outside of calls. *ret_longest: the stack that took most of it, NULL: none. */
static uint64_t blocked_in_faults(const struct xp_off_cpu_value *off_cpu, uint32_t tid, const struct xp_off_cpu_group **ret_longest)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < off_cpu->n_uses; i++)
		if (off_cpu->uses[i].tid == tid && off_cpu->uses[i].reason == XP_REASON_PAGE_FAULT) {
			ns += off_cpu->uses[i].total_ns;
			*ret_longest = *ret_longest ? *ret_longest : off_cpu->uses[i].longest;
		}
	return ns;
}

/* Reads that a fast disk answers at once block for too short a time to have stacks: then the samples in the kernel. */
static const struct xp_frame *faulting(const struct xp_triage_input *input, const struct xp_thread_row *thread, uint64_t blocked_ns)
{
	const struct xp_frame *frame = xp_own_blocked(input, thread->name_pattern, NULL, blocked_ns);

	for (size_t i = 0; input->cpu && !frame && i < input->cpu->n_by_thread; i++) {
		const struct xp_cpu_thread *cpu = &input->cpu->by_thread[i];

		if (cpu->tid == thread->tid && cpu->fault_samples && cpu->fault_samples * 2 >= cpu->kernel_samples)
			frame = xp_own_in_kernel(input, cpu->name_pattern);
	}
	return frame;
}

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	const struct xp_thread_row *most = NULL;
	const struct xp_off_cpu_group *longest = NULL;
	double per_second = xp_input_per_second(input, input->threads->major_faults);

	if (per_second < FAULTS_PER_SECOND)
		return;
	for (size_t i = 0; i < input->threads->n_threads; i++)
		if (!most || input->threads->threads[i].major_faults > most->major_faults)
			most = &input->threads->threads[i];
	json_t *evidence = json_object();
	json_object_set_new(evidence, "major_faults", xp_json_count(input->threads->major_faults));
	json_object_set_new(evidence, "per_second", json_real(per_second));
	json_object_set_new(evidence, "tid", most ? xp_json_count(most->tid) : json_null());
	json_object_set_new(evidence, "thread_faults", most ? xp_json_count(most->major_faults) : json_null());
	uint64_t blocked = most && input->off_cpu ? blocked_in_faults(input->off_cpu, most->tid, &longest) : 0;
	double share = most && input->off_cpu ? xp_input_share(input, blocked) : -1;
	json_object_set_new(evidence, "blocked_ns", share < 0 ? json_null() : xp_json_count(blocked));
	if (longest) {
		json_object_set_new(evidence, "stack", xp_blocked_stack_json(longest, out->arena));
		json_object_set_new(evidence, "python_line", xp_blocked_python_line(longest, blocked));
	}
	struct xp_finding *finding = xp_finding_add(out, "major_faults", most ? most->name : "process", share, evidence);

	finding->tid = most ? most->tid : 0;
	if (share < 0)
		xp_finding_say(out, finding, "%.0f page faults a second had to read from a disk", per_second);
	else
		xp_finding_say(out, finding,
			       "%.0f page faults a second had to read from a disk; thread %s waited %.0f ms of %.0f ms for them",
			       per_second, most->name, (double)blocked / 1e6, (double)input->window_ns / 1e6);
	xp_own_say(out, finding, ", in ", most ? faulting(input, most, blocked) : NULL);
	xp_next_action(out, finding, "check_memory", NULL, NULL,
		       "check for too little memory, swapping, or files that are mapped and not cached");
}

const struct xp_rule xp_rule_major_faults = {
	.code = "major_faults",
	.order = 160,
	.needs = 1u << XP_SOURCE_THREADS,
	.run = run,
};
