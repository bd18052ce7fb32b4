// SPDX-License-Identifier: Apache-2.0
/* The main thread waits while its descendants work: the time is theirs. */
#include "base/arena.h"
#include "triage/blocked.h"
#include "triage/command.h"
#include "triage/own_code.h"
#include "triage/rule.h"

enum { MAX_LISTED = 8, MANY_STARTED = 20 };
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

/* Where the main thread waits, and whether it is the number of processes that costs. */
static void say_how(const struct xp_triage_input *input, const struct xp_thread_row *main_thread, struct xp_findings *out,
		    struct xp_finding *finding)
{
	const char *call = NULL;

	if (input->forked >= MANY_STARTED)
		finding->message = xp_arena_fmt(out->arena, "%s; %u processes were started in this time", finding->message, input->forked);
	for (size_t i = 0; input->off_cpu && i < input->off_cpu->n_uses && !call; i++) /* by total falling */
		if (input->off_cpu->uses[i].tid == main_thread->tid)
			call = input->off_cpu->uses[i].syscall_name;
	if (!call)
		return;
	json_object_set_new(finding->evidence, "syscall_name", json_string(call));
	finding->message = xp_arena_fmt(out->arena, "%s; the main thread waited mostly in %s", finding->message, call);
	xp_own_say(out, finding, ", called from ",
		   xp_own_blocked(input, main_thread->name_pattern, call, xp_blocked_in(input->off_cpu, main_thread->tid, call).total_ns));
}

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	const struct xp_thread_row *main_thread = xp_thread_time_find(input->threads, input->target.pid);

	if (input->several || !main_thread)
		return;
	uint64_t children_ns = input->threads->children_cpu_ns, blocked_ns = main_thread->blocked_ns;
	if (xp_input_share(input, children_ns) < CHILDREN_SHARE || xp_input_share(input, blocked_ns) < BLOCKED_SHARE)
		return;
	/* Nobody waits longer for their work than it takes. */
	double share = xp_input_share(input, children_ns < blocked_ns ? children_ns : blocked_ns);
	json_t *evidence = json_object();
	json_object_set_new(evidence, "tid", xp_json_count(main_thread->tid));
	json_object_set_new(evidence, "main_thread_blocked_ns", xp_json_count(main_thread->blocked_ns));
	json_object_set_new(evidence, "children_cpu_ns", xp_json_count(input->threads->children_cpu_ns));
	json_object_set_new(evidence, "processes_started", xp_json_count(input->forked));
	json_object_set_new(evidence, "children_total", xp_json_count(input->threads->children_total));
	json_object_set_new(evidence, "children", busiest_children(input->threads));
	struct xp_finding *finding = xp_finding_add(out, "busy_children", main_thread->name, share, evidence);

	finding->tid = main_thread->tid;
	xp_finding_say(out, finding, "the main thread was blocked for %.0f ms of %.0f ms while %u descendant%s used %.0f ms of CPU time",
		       (double)main_thread->blocked_ns / 1e6, (double)input->window_ns / 1e6, input->threads->children_total,
		       input->threads->children_total == 1 ? "" : "s", (double)input->threads->children_cpu_ns / 1e6);
	say_how(input, main_thread, out, finding);
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
