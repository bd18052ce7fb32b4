// SPDX-License-Identifier: Apache-2.0
/* A thread could have run and found no CPU; time that a CPU quota took is not counted here. */
#include "engine/proc_parse.h"
#include "triage/rule.h"

enum { MAX_LISTED = 8 };
#define LEAST_SHARE 0.05

/* Threads that wanted a CPU for a noticeable part of the window. */
static json_t *runnable(const struct xp_triage_input *input, uint32_t *ret_n, double *ret_wanted)
{
	json_t *list = json_array();

	*ret_n = 0;
	*ret_wanted = 0;
	for (size_t i = 0; i < input->threads->n_threads; i++) {
		const struct xp_thread_row *thread = &input->threads->threads[i];
		double share = xp_input_share(input, thread->on_cpu_ns + thread->runqueue_ns);
		json_t *entry;

		if (share < LEAST_SHARE)
			continue;
		*ret_wanted += share;
		if (++*ret_n > MAX_LISTED)
			continue;
		entry = json_object();
		json_object_set_new(entry, "tid", xp_json_count(thread->tid));
		json_object_set_new(entry, "name", xp_json_text(thread->name));
		json_object_set_new(entry, "on_cpu_ns", xp_json_count(thread->on_cpu_ns));
		json_object_set_new(entry, "runqueue_ns", xp_json_count(thread->runqueue_ns));
		json_array_append_new(list, entry);
	}
	return list;
}

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	uint64_t throttled = xp_input_throttled_ns(input), most = 0;
	const struct xp_thread_row *thread = NULL;
	uint32_t n;
	double wanted;

	for (size_t i = 0; i < input->threads->n_threads; i++) {
		const struct xp_thread_row *row = &input->threads->threads[i];
		uint64_t wait = row->runqueue_ns > throttled ? row->runqueue_ns - throttled : 0;

		if (!thread || wait > most) {
			thread = row;
			most = wait;
		}
	}
	double share = xp_input_share(input, most);
	if (!thread || share < LEAST_SHARE)
		return;

	const char *cpus = thread->cpus_allowed ? thread->cpus_allowed : input->threads->cpus_allowed;
	uint32_t n_cpus = cpus ? xp_cpu_list_count(cpus) : 0;
	json_t *evidence = json_object(), *list = runnable(input, &n, &wanted);
	json_object_set_new(evidence, "tid", xp_json_count(thread->tid));
	json_object_set_new(evidence, "runqueue_ns", xp_json_count(thread->runqueue_ns));
	json_object_set_new(evidence, "throttled_ns", xp_json_count(throttled));
	json_object_set_new(evidence, "on_cpu_ns", xp_json_count(thread->on_cpu_ns));
	json_object_set_new(evidence, "cpus_allowed", cpus ? json_string(cpus) : json_null());
	json_object_set_new(evidence, "cpus_allowed_count", xp_json_count(n_cpus));
	json_object_set_new(evidence, "runnable_threads_total", xp_json_count(n));
	json_object_set_new(evidence, "runnable_threads", list);
	json_object_set_new(evidence, "runnable_at_end", xp_json_count(input->threads->runnable_at_end));
	struct xp_finding *finding = xp_finding_add(out, "runqueue_wait", thread->name, share, evidence);

	finding->tid = thread->tid;
	xp_finding_say(out, finding, "thread %s could run and waited %.0f ms of %.0f ms for a CPU", thread->name, (double)most / 1e6,
		       (double)input->window_ns / 1e6);
	xp_next_action(out, finding, "reduce_cpu_contention", cpus ? xp_arena_fmt(out->arena, "CPUs %s", cpus) : NULL, NULL,
		       "%u runnable thread%s of the target: want %.1f CPUs, may use %u (%s)%s", n, n == 1 ? "" : "s", wanted, n_cpus,
		       cpus ? cpus : "not readable",
		       n_cpus && wanted > n_cpus ? ": use fewer threads or allow more CPUs" : ": other processes compete for them");
}

const struct xp_rule xp_rule_runqueue_wait = {
	.code = "runqueue_wait",
	.order = 20,
	.needs = 1u << XP_SOURCE_THREADS,
	.run = run,
};
