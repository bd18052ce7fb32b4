// SPDX-License-Identifier: Apache-2.0
/* A thread that spends a noticeable part of the window in Python's garbage collector. */
#include "triage/cpu_view.h"
#include "triage/own_code.h"
#include "triage/rule.h"

#define LEAST_SHARE 0.05

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	const struct xp_cpu_thread *most = NULL;

	for (size_t i = 0; i < input->cpu->n_by_thread; i++)
		if (!most || input->cpu->by_thread[i].gc_samples > most->gc_samples)
			most = &input->cpu->by_thread[i];
	if (!most || xp_cpu_share(input, most->gc_samples) < LEAST_SHARE)
		return;
	double share = xp_cpu_share(input, most->gc_samples);
	json_t *evidence = json_object();

	json_object_set_new(evidence, "tid", xp_json_count(most->tid));
	json_object_set_new(evidence, "collector_samples", xp_json_count(most->gc_samples));
	json_object_set_new(evidence, "samples", xp_json_count(most->samples));
	struct xp_finding *finding = xp_finding_add(out, "python_gc", most->name, share, evidence);

	finding->tid = most->tid;
	finding->window_share_interval_95 = xp_cpu_interval(input, most->gc_samples);
	finding->confidence = XP_ESTIMATED;
	xp_finding_say(out, finding, "thread %s spent about %.0f ms of %.0f ms in Python's garbage collector", most->name,
		       share * (double)input->window_ns / 1e6, (double)input->window_ns / 1e6);
	xp_own_say(out, finding, ", most of it inside ", xp_own_collecting(input, most->name_pattern));
	xp_next_python_gc(out, finding, &input->target);
}

static const struct xp_take takes[] = { { "cpu_bound_thread", XP_TAKE_SAME_THREAD }, { NULL } };

const struct xp_rule xp_rule_python_gc = {
	.code = "python_gc",
	.order = 120,
	.needs = 1u << XP_SOURCE_CPU_SAMPLES,
	.takes = takes,
	.run = run,
};
