// SPDX-License-Identifier: Apache-2.0
/* Page faults that had to read from a disk. */
#include "triage/rule.h"

#define FAULTS_PER_SECOND 100

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	const struct xp_thread_row *most = NULL;
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
	struct xp_finding *finding = xp_finding_add(out, "major_faults", most ? most->name : "process", -1, evidence);

	finding->tid = most ? most->tid : 0;
	xp_finding_say(out, finding, "%.0f page faults a second had to read from a disk", per_second);
	xp_next_action(out, finding, "check_memory", NULL, NULL,
		       "check for too little memory, swapping, or files that are mapped and not cached");
}

const struct xp_rule xp_rule_major_faults = {
	.code = "major_faults",
	.order = 160,
	.needs = 1u << XP_SOURCE_THREADS,
	.run = run,
};
