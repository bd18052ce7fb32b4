// SPDX-License-Identifier: Apache-2.0
/* CPU time of threads that came and went between two readings. */
#include <string.h>

#include "triage/command.h"
#include "triage/rule.h"

#define LEAST_SHARE 0.10

/* Calls that make threads, when the syscall inventory counted them; processes are among them. */
static json_t *clone_calls(const struct xp_syscall_view *view)
{
	uint64_t calls = 0;

	if (!view)
		return json_null();
	for (size_t i = 0; i < view->n_sums; i++)
		if (view->sums[i].name && (!strcmp(view->sums[i].name, "clone") || !strcmp(view->sums[i].name, "clone3")))
			calls += view->sums[i].calls;
	return xp_json_count(calls);
}

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	const struct xp_thread_time *threads = input->threads;
	double share = xp_input_share(input, threads->vanished_cpu_ns);

	if (share < LEAST_SHARE)
		return;
	json_t *evidence = json_object(), *calls = clone_calls(input->syscalls);
	json_object_set_new(evidence, "vanished_cpu_ns", xp_json_count(threads->vanished_cpu_ns));
	json_object_set_new(evidence, "process_cpu_ns",
			    threads->process_cpu_ns.set ? xp_json_count(threads->process_cpu_ns.v) : json_null());
	json_object_set_new(evidence, "started_seen", xp_json_count(threads->started));
	json_object_set_new(evidence, "ended_seen", xp_json_count(threads->ended));
	json_object_set_new(evidence, "clone_calls", calls);
	json_object_set_new(evidence, "readings", xp_json_count(threads->sweeps));
	uint64_t made = json_is_integer(calls) ? (uint64_t)json_integer_value(calls) : 0;
	bool counted = made >= threads->started && made > 0;
	struct xp_finding *finding = xp_finding_add(out, "thread_churn", "short-lived threads", share, evidence);

	xp_finding_say(out, finding,
		       "%s%llu threads were started in the window; those that came and went between two readings used %.0f ms of CPU time",
		       counted ? "" : "at least ", counted ? (unsigned long long)made : threads->started,
		       (double)threads->vanished_cpu_ns / 1e6);
	xp_next_cpu_samples(input, out, finding, 0);
}

const struct xp_rule xp_rule_thread_churn = {
	.code = "thread_churn",
	.order = 150,
	.needs = 1u << XP_SOURCE_THREADS,
	.run = run,
};
