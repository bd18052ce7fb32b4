// SPDX-License-Identifier: Apache-2.0
/* The CPU quota of the target's group stopped it. */
#include "triage/rule.h"

#define LEAST_SHARE 0.02
#define WAIT_SHARE 0.05 /* from here on runqueue_wait would have told the same time */

static const struct xp_thread_row *longest_wait(const struct xp_thread_time *threads)
{
	const struct xp_thread_row *longest = NULL;

	for (size_t i = 0; i < threads->n_threads; i++)
		if (!longest || threads->threads[i].runqueue_ns > longest->runqueue_ns)
			longest = &threads->threads[i];
	return longest;
}

static json_t *evidence_of(const struct xp_cgroup_level *level, const struct xp_thread_row *thread)
{
	json_t *evidence = json_object();

	json_object_set_new(evidence, "level", xp_json_count(level->level));
	json_object_set_new(evidence, "quota_us", level->quota_us.set ? json_integer(level->quota_us.v) : json_null());
	json_object_set_new(evidence, "period_us", level->period_us.set ? xp_json_count(level->period_us.v) : json_null());
	json_object_set_new(evidence, "cpus", level->cpus.set ? json_real(level->cpus.v) : json_null());
	json_object_set_new(evidence, "throttled_ns", xp_json_count(level->throttled_ns.v));
	json_object_set_new(evidence, "throttled_periods", xp_json_count(level->throttled_periods.v));
	json_object_set_new(evidence, "periods", xp_json_count(level->periods.v));
	json_object_set_new(evidence, "max_thread_runqueue_ns", xp_json_count(thread->runqueue_ns));
	json_object_set_new(evidence, "tid", xp_json_count(thread->tid));
	return evidence;
}

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	const struct xp_cgroup_level *level = input->cgroup->n_levels ? &input->cgroup->levels[input->cgroup->chosen] : NULL;
	const struct xp_thread_row *thread = longest_wait(input->threads);

	if (!level || !thread || !level->throttled_periods.v)
		return;
	uint64_t held_ns = level->throttled_ns.v < thread->runqueue_ns ? level->throttled_ns.v : thread->runqueue_ns;
	double share = xp_input_share(input, held_ns), waited = xp_input_share(input, thread->runqueue_ns);

	if (share < LEAST_SHARE)
		return;
	struct xp_finding *finding = xp_finding_add(out, "cgroup_throttled", level->path, share, evidence_of(level, thread));

	if (waited >= WAIT_SHARE) {
		struct xp_opt_f64 taken = XP_SOME(share);

		xp_finding_absorb(finding, "runqueue_wait", thread->name, taken);
	}
	xp_finding_say(out, finding, "the CPU quota stopped the group for %.0f ms of %.0f ms", (double)level->throttled_ns.v / 1e6,
		       (double)input->window_ns / 1e6);
	const char *slash = level->path[1] ? "/" : "";
	xp_next_action(out, finding, "raise_cpu_quota",
		       xp_arena_fmt(out->arena, "%s%s%s", level->path, slash,
				    input->cgroup->version == XP_CGROUP_V2 ? "cpu.max" : "cpu.cfs_quota_us"),
		       NULL, "raise or remove the CPU limit of the group%s",
		       level->level ? ", which is an ancestor of the target's own" : "");
}

const struct xp_rule xp_rule_cgroup_throttled = {
	.code = "cgroup_throttled",
	.order = 10,
	.needs = 1u << XP_SOURCE_CGROUP | 1u << XP_SOURCE_THREADS,
	.run = run,
};
