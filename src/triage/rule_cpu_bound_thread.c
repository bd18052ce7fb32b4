// SPDX-License-Identifier: Apache-2.0
/* A thread ran on a CPU for nearly the whole window. */
#include <string.h>

#include "triage/command.h"
#include "triage/rule.h"

enum { MAX_PATTERNS = 3 };
#define LEAST_SHARE 0.90

/* One finding a name pattern, about its busiest thread: the rows come busiest first, so the first of a pattern is the one. */
static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	const struct xp_thread_time *threads = input->threads;
	const char *told[MAX_PATTERNS];
	unsigned n_told = 0;

	for (size_t i = 0; i < threads->n_threads && n_told < MAX_PATTERNS; i++) {
		const struct xp_thread_row *thread = &threads->threads[i];
		double share = xp_input_share(input, thread->on_cpu_ns);
		bool known = false;
		uint32_t alike = 0;

		for (unsigned t = 0; t < n_told; t++)
			known |= !strcmp(told[t], thread->name_pattern);
		if (known || share < LEAST_SHARE)
			continue;
		for (size_t j = i; j < threads->n_threads; j++)
			alike += xp_input_share(input, threads->threads[j].on_cpu_ns) >= LEAST_SHARE &&
				 !strcmp(threads->threads[j].name_pattern, thread->name_pattern);
		told[n_told++] = thread->name_pattern;
		json_t *evidence = json_object();
		json_object_set_new(evidence, "tid", xp_json_count(thread->tid));
		json_object_set_new(evidence, "on_cpu_ns", xp_json_count(thread->on_cpu_ns));
		json_object_set_new(evidence, "name_pattern", xp_json_text(thread->name_pattern));
		json_object_set_new(evidence, "threads_alike", xp_json_count(alike));
		struct xp_finding *finding = xp_finding_add(out, "cpu_bound_thread", thread->name, share, evidence);

		finding->tid = thread->tid;
		xp_finding_say(out, finding, "thread %s ran on a CPU for %.0f ms of %.0f ms", thread->name, (double)thread->on_cpu_ns / 1e6,
			       (double)input->window_ns / 1e6);
		xp_next_cpu_samples(input, out, finding, thread->tid);
	}
}

const struct xp_rule xp_rule_cpu_bound_thread = {
	.code = "cpu_bound_thread",
	.order = 60,
	.needs = 1u << XP_SOURCE_THREADS,
	.run = run,
};
