/* SPDX-License-Identifier: Apache-2.0 */
/* An active thread waits for Python's global lock while another one holds it. */
#include "triage/blocked.h"
#include "triage/command.h"
#include "triage/own_code.h"
#include "triage/rule.h"

enum { MAX_LISTED = 8 };
#define LEAST_SHARE 0.10
#define FUTEX_SHARE 0.05   /* from here on syscall_blocked would have told of it */
#define HOLDING_SHARE 0.05 /* a thread that ran so long held the lock for a part that matters */

/* Waits of one thread, under all its names. */
static uint64_t waited(const struct xp_off_cpu_value *off_cpu, uint32_t tid, const struct xp_off_cpu_group **ret_longest)
{
	uint64_t ns = 0;

	*ret_longest = NULL;
	for (size_t i = 0; i < off_cpu->n_uses; i++) {
		const struct xp_off_cpu_use *use = &off_cpu->uses[i];

		if (use->tid != tid)
			continue;
		ns += use->lock_ns;
		if (!*ret_longest)
			*ret_longest = use->lock;
	}
	return ns;
}

static json_t *entry_of(const struct xp_thread_row *thread, const char *label, uint64_t ns)
{
	json_t *entry = json_object();

	json_object_set_new(entry, "tid", xp_json_count(thread->tid));
	json_object_set_new(entry, "thread_name", xp_json_text(thread->name));
	json_object_set_new(entry, label, xp_json_count(ns));
	return entry;
}

static json_t *waiting_threads(const struct xp_triage_input *input)
{
	const struct xp_off_cpu_group *unused;
	json_t *list = json_array();

	for (size_t i = 0; i < input->threads->n_threads && json_array_size(list) < MAX_LISTED; i++) {
		const struct xp_thread_row *thread = &input->threads->threads[i];
		uint64_t ns = waited(input->off_cpu, thread->tid, &unused);

		if (ns)
			json_array_append_new(list, entry_of(thread, "waited_ns", ns));
	}
	return list;
}

/* Who ran: threads are sorted by that. `but` is the thread that waits longest. */
static json_t *holding_threads(const struct xp_triage_input *input, const struct xp_thread_row *but, const struct xp_thread_row **ret_first)
{
	json_t *list = json_array();

	*ret_first = NULL;
	for (size_t i = 0; i < input->threads->n_threads && json_array_size(list) < MAX_LISTED; i++) {
		const struct xp_thread_row *thread = &input->threads->threads[i];

		if (thread == but || xp_input_share(input, thread->on_cpu_ns) < HOLDING_SHARE)
			continue;
		if (!*ret_first || thread->on_cpu_ns > (*ret_first)->on_cpu_ns)
			*ret_first = thread;
		json_array_append_new(list, entry_of(thread, "on_cpu_ns", thread->on_cpu_ns));
	}
	return list;
}

static void tell(const struct xp_triage_input *input, const struct xp_thread_row *thread, uint64_t ns, const struct xp_off_cpu_group *group,
		 struct xp_findings *out)
{
	const struct xp_thread_row *holder;
	struct xp_opt_f64 taken = XP_SOME(xp_input_share(input, ns));
	json_t *evidence = json_object();

	json_object_set_new(evidence, "tid", xp_json_count(thread->tid));
	json_object_set_new(evidence, "thread_name", xp_json_text(thread->name));
	json_object_set_new(evidence, "waited_ns", xp_json_count(ns));
	json_object_set_new(evidence, "waiting", waiting_threads(input));
	json_object_set_new(evidence, "holding", holding_threads(input, thread, &holder));
	json_object_set_new(evidence, "stack", xp_blocked_stack_json(group, out->arena));
	json_object_set_new(evidence, "python_line", xp_blocked_python_line(group, ns));
	struct xp_finding *finding = xp_finding_add(out, "python_gil", thread->name, xp_input_share(input, ns), evidence);

	finding->tid = thread->tid;
	if (taken.v >= FUTEX_SHARE)
		xp_finding_absorb(finding, "syscall_blocked", "futex", taken);
	xp_finding_say(out, finding, "thread %s waited %.0f ms of %.0f ms for Python's global interpreter lock%s%s", thread->name,
		       (double)ns / 1e6, (double)input->window_ns / 1e6, holder ? " while others ran, most of all " : "",
		       holder ? holder->name : "");
	xp_own_say(out, finding, " in ", holder ? xp_own_running(input, holder->name_pattern) : NULL);
	xp_next_off_cpu(input, out, finding, thread->tid);
}

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	const struct xp_off_cpu_group *group, *longest = NULL;
	const struct xp_thread_row *worst = NULL;
	uint64_t most = 0;

	for (size_t i = 0; i < input->threads->n_threads; i++) {
		const struct xp_thread_row *thread = &input->threads->threads[i];
		uint64_t ns = thread->active ? waited(input->off_cpu, thread->tid, &group) : 0;

		if (ns <= most)
			continue;
		most = ns;
		worst = thread;
		longest = group;
	}
	if (worst && xp_input_share(input, most) >= LEAST_SHARE)
		tell(input, worst, most, longest, out);
}

const struct xp_rule xp_rule_python_gil = {
	.code = "python_gil",
	.order = 110,
	.needs = 1u << XP_SOURCE_OFF_CPU | 1u << XP_SOURCE_THREADS,
	.run = run,
};
