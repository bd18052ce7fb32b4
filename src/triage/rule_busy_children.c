// SPDX-License-Identifier: Apache-2.0
/* The main thread waits while its descendants work: the time is theirs. */
#include "triage/command.h"
#include "triage/rule.h"

enum { MAX_LISTED = 8 };
#define CHILDREN_SHARE 0.50
#define BLOCKED_SHARE 0.30

static json_t *busiest_children(const struct xp_thread_time *threads)
{
	json_t *list = json_array();

	for (size_t i = 0; i < threads->n_children && i < MAX_LISTED; i++) {
		json_t *entry = json_object();

		json_object_set_new(entry, "pid", xp_json_count(threads->children[i].pid));
		json_object_set_new(entry, "name", xp_json_text(threads->children[i].name));
		json_object_set_new(entry, "on_cpu_ns", xp_json_count(threads->children[i].on_cpu_ns));
		json_array_append_new(list, entry);
	}
	return list;
}

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	const struct xp_thread_row *main_thread = xp_thread_time_find(input->threads, input->target.pid);

	if (input->several || !main_thread)
		return;
	double share = xp_input_share(input, main_thread->blocked_ns);
	if (xp_input_share(input, input->threads->children_cpu_ns) < CHILDREN_SHARE || share < BLOCKED_SHARE)
		return;
	json_t *evidence = json_object();
	json_object_set_new(evidence, "tid", xp_json_count(main_thread->tid));
	json_object_set_new(evidence, "main_thread_blocked_ns", xp_json_count(main_thread->blocked_ns));
	json_object_set_new(evidence, "children_cpu_ns", xp_json_count(input->threads->children_cpu_ns));
	json_object_set_new(evidence, "children_total", xp_json_count(input->threads->children_total));
	json_object_set_new(evidence, "children", busiest_children(input->threads));
	struct xp_finding *finding = xp_finding_add(out, "busy_children", main_thread->name, share, evidence);

	finding->tid = main_thread->tid;
	xp_finding_say(out, finding, "the main thread was blocked for %.0f ms of %.0f ms while %u descendants used %.0f ms of CPU time",
		       (double)main_thread->blocked_ns / 1e6, (double)input->window_ns / 1e6, input->threads->children_total,
		       (double)input->threads->children_cpu_ns / 1e6);
	xp_next_triage_tree(input, out, finding);
}

static const struct xp_take takes[] = { { "syscall_blocked", XP_TAKE_ANY }, { "fully_blocked", XP_TAKE_ANY }, { NULL } };

const struct xp_rule xp_rule_busy_children = {
	.code = "busy_children",
	.order = 130,
	.needs = 1u << XP_SOURCE_THREADS,
	.takes = takes,
	.run = run,
};
