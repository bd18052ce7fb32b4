// SPDX-License-Identifier: Apache-2.0
/* A thread waits while a process below works, or is itself held up in one call: the time is the child's. */
#include <string.h>

#include "base/arena.h"
#include "triage/blocked.h"
#include "triage/command.h"
#include "triage/family.h"
#include "triage/own_code.h"
#include "triage/rule.h"

#define BLOCKED_SHARE 0.30
#define CHILD_SHARE 0.60
#define PART_SHARE 0.05 /* a child that ran so long took part in the work of all */

/* What a thread does in a window in which it did little else. */
struct wait {
	const struct xp_thread_row *thread;
	const char *call; /* it was blocked longest in; NULL: not known */
	uint64_t call_ns;
};

/* The call that held one thread longest, by blocked time, else by time in calls, else where /proc saw it sit. */
static struct wait wait_of(const struct xp_triage_input *input, const struct xp_thread_row *thread)
{
	struct wait wait = { .thread = thread };

	for (size_t i = 0; input->off_cpu && i < input->off_cpu->n_uses; i++) {
		const struct xp_off_cpu_use *use = &input->off_cpu->uses[i];

		if (use->tid != thread->tid || !use->syscall_name || use->total_ns <= wait.call_ns)
			continue;
		wait.call = use->syscall_name;
		wait.call_ns = use->total_ns;
	}
	for (size_t i = 0; !input->off_cpu && input->syscalls && i < input->syscalls->n_uses; i++) {
		const struct xp_call_use *use = &input->syscalls->uses[i];
		uint64_t ns = use->total_ns < thread->blocked_ns ? use->total_ns : thread->blocked_ns;

		if (use->tid != thread->tid || !use->name || ns <= wait.call_ns)
			continue;
		wait.call = use->name;
		wait.call_ns = ns;
	}
	return wait;
}

/*
 * The thread that leads the process: the busiest, or the main thread when it takes part in the work or nobody else does. Of the two the
 * one that waited longer.
 */
static const struct xp_thread_row *leading_thread(const struct xp_triage_input *input)
{
	const struct xp_thread_row *main_thread = xp_thread_time_find(input->threads, input->target.pid), *busiest = NULL;

	for (size_t i = 0; i < input->threads->n_threads; i++) {
		const struct xp_thread_row *thread = &input->threads->threads[i];

		if (thread->active && (!busiest || thread->on_cpu_ns > busiest->on_cpu_ns))
			busiest = thread;
	}
	if (!main_thread || (busiest && !main_thread->active))
		return busiest;
	return busiest && busiest->blocked_ns > main_thread->blocked_ns ? busiest : main_thread;
}

/* What a descendant does for most of the window. */
struct work {
	const struct xp_triage_relative *child;
	struct wait wait;
	bool on_cpu;
	uint64_t ns;
};

/*
 * A thread that only waits for something to do works on nothing, but when the parent waits for the very end of a child, it does not
 * matter what holds the child up.
 */
static bool is_work(const struct wait *wait, bool for_its_end)
{
	const char *means = xp_wait_means(wait->call);
	bool device = wait->thread->state && wait->thread->state[0] == 'D';

	if (for_its_end || device)
		return true;
	return wait->thread->active && wait->call && !(means && strcmp(means, "socket") != 0) && strcmp(wait->call, "accept") != 0 &&
	       strcmp(wait->call, "accept4") != 0;
}

static struct work work_of(const struct xp_triage_relative *child, bool for_its_end)
{
	const struct xp_thread_time *threads = child->input->threads;
	struct work most = { .child = child };

	for (size_t i = 0; threads && i < threads->n_threads; i++) {
		const struct xp_thread_row *thread = &threads->threads[i];
		struct wait wait = { .thread = thread };

		/* What would run if it got a CPU is as busy for the one who waits. */
		if (thread->on_cpu_ns && thread->on_cpu_ns + thread->runqueue_ns > most.ns)
			most = (struct work){ .child = child, .wait = wait, .on_cpu = true, .ns = thread->on_cpu_ns + thread->runqueue_ns };
		if (thread->blocked_ns <= most.ns)
			continue;
		wait = wait_of(child->input, thread);
		if (wait.call_ns > most.ns && is_work(&wait, for_its_end))
			most = (struct work){ .child = child, .wait = wait, .ns = wait.call_ns };
	}
	return most;
}

/*
 * Work before waiting: what runs is more than what is held up. Where the work goes from one child of a pool to the next, they count
 * together, and the busiest stands for them.
 */
static struct work busiest_child(const struct xp_triage_input *input, bool for_its_end, uint32_t *ret_alike)
{
	struct work best = { 0 }, most = { 0 };
	uint64_t together_ns = 0;
	uint32_t took_part = 0;

	*ret_alike = 0;
	for (size_t i = 0; i < input->n_descendants; i++) {
		struct work work = work_of(&input->descendants[i], for_its_end);

		if (work.on_cpu) {
			together_ns += work.ns;
			took_part += xp_input_share(input, work.ns) >= PART_SHARE;
			most = work.ns > most.ns ? work : most;
		}
		if (!work.wait.thread || xp_input_share(input, work.ns) < CHILD_SHARE)
			continue;
		++*ret_alike;
		if (!best.child || (work.on_cpu != best.on_cpu ? work.on_cpu : work.ns > best.ns))
			best = work;
	}
	if (best.child || xp_input_share(input, together_ns) < CHILD_SHARE)
		return best;
	*ret_alike = took_part;
	return most;
}

static json_t *text_or_null(const char *text)
{
	return text ? xp_json_text(text) : json_null();
}

static json_t *evidence_of(const struct xp_triage_input *input, const struct wait *wait, const struct work *work, uint32_t alike,
			   struct xp_arena *arena)
{
	const struct xp_finding *best = work->child->best;
	json_t *evidence = json_object(), *found = json_null();
	struct xp_blocked blocked = xp_blocked_in(input->off_cpu, wait->thread->tid, wait->call ? wait->call : "");

	if (best) {
		found = json_object();
		json_object_set_new(found, "code", json_string(best->code));
		json_object_set_new(found, "subject", xp_json_text(best->subject));
		json_object_set_new(found, "window_share", best->window_share.set ? json_real(best->window_share.v) : json_null());
	}
	json_object_set_new(evidence, "pid", xp_json_count(input->target.pid));
	json_object_set_new(evidence, "tid", xp_json_count(wait->thread->tid));
	json_object_set_new(evidence, "thread_name", xp_json_text(wait->thread->name));
	json_object_set_new(evidence, "blocked_ns", xp_json_count(wait->thread->blocked_ns));
	json_object_set_new(evidence, "waits_in", text_or_null(xp_wait_means(wait->call)));
	json_object_set_new(evidence, "syscall_name", text_or_null(wait->call));
	json_object_set_new(evidence, "child_pid", xp_json_count(work->child->input->target.pid));
	json_object_set_new(evidence, "child_tid", xp_json_count(work->wait.thread->tid));
	json_object_set_new(evidence, "child_thread_name", xp_json_text(work->wait.thread->name));
	json_object_set_new(evidence, work->on_cpu ? "child_on_cpu_ns" : "child_blocked_ns",
			    xp_json_count(work->on_cpu ? work->wait.thread->on_cpu_ns : work->ns));
	if (work->on_cpu)
		json_object_set_new(evidence, "child_runqueue_ns", xp_json_count(work->wait.thread->runqueue_ns));
	json_object_set_new(evidence, "child_syscall_name", text_or_null(work->on_cpu ? NULL : work->wait.call));
	json_object_set_new(evidence, "children_alike", xp_json_count(alike));
	json_object_set_new(evidence, "child_finding", found);
	if (blocked.longest) {
		json_object_set_new(evidence, "stack", xp_blocked_stack_json(blocked.longest, arena));
		json_object_set_new(evidence, "python_line", xp_blocked_python_line(blocked.longest, blocked.total_ns));
	}
	return evidence;
}

static void tell(const struct xp_triage_input *input, const struct wait *wait, const struct work *work, uint32_t alike,
		 struct xp_findings *out)
{
	json_t *evidence = evidence_of(input, wait, work, alike, out->arena);
	struct xp_finding *finding =
		xp_finding_add(out, "waits_for_child", wait->thread->name, xp_input_share(input, wait->thread->blocked_ns), evidence);
	const struct xp_finding *best = work->child->best;
	const char *cause = best ? best->message : NULL;
	uint32_t pid = work->child->input->target.pid;

	finding->tid = wait->thread->tid;
	xp_finding_say(out, finding, "thread %s was blocked for %.0f ms of %.0f ms%s%s", wait->thread->name,
		       (double)wait->thread->blocked_ns / 1e6, (double)input->window_ns / 1e6, wait->call ? " in " : "",
		       wait->call ? wait->call : "");
	if (wait->call)
		xp_own_say(out, finding, ", called from ", xp_own_blocked(input, wait->thread->name_pattern, wait->call, wait->call_ns));
	finding->message = xp_arena_fmt(out->arena, "%s while process %u (%s) %s%s for %.0f ms%s%s", finding->message, pid,
					work->wait.thread->name, work->on_cpu ? "ran or could run" : "was blocked in ",
					work->on_cpu ? "" : work->wait.call, (double)work->ns / 1e6, cause ? ": " : "", cause ? cause : "");
	if (best)
		finding->next = best->next;
	else
		xp_next_cpu_samples(work->child->input, out, finding, work->wait.thread->tid);
}

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	const struct xp_thread_row *leader = input->n_descendants ? leading_thread(input) : NULL;
	uint32_t alike;

	if (!leader || xp_input_share(input, leader->blocked_ns) < BLOCKED_SHARE)
		return;
	struct wait wait = wait_of(input, leader);
	const char *means = xp_wait_means(wait.call);

	/* Asleep, or at a disk: whatever the children do, it does not wait for them. */
	if (wait.call && !means)
		return;
	struct work work = busiest_child(input, means && !strcmp(means, "wait4"), &alike);
	if (work.child)
		tell(input, &wait, &work, alike, out);
}

static const struct xp_take takes[] = { { "syscall_blocked", XP_TAKE_ANY }, { "fully_blocked", XP_TAKE_ANY }, { NULL } };

const struct xp_rule xp_rule_waits_for_child = {
	.code = "waits_for_child",
	.order = 140,
	.needs = 1u << XP_SOURCE_THREADS,
	.takes = takes,
	.run = run,
};
