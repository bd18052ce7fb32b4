// SPDX-License-Identifier: Apache-2.0
/* No thread did anything in the window: the process waits, or hangs. */
#include <string.h>

#include "arch/x86_64/syscalls.h"
#include "base/arena.h"
#include "triage/blocked.h"
#include "triage/command.h"
#include "triage/gpu_view.h"
#include "triage/own_code.h"
#include "triage/rule.h"

enum { MAX_LISTED = 8, MAX_STACKS = 5 };
#define WAIT_SHARE 0.05 /* a thread that waited that long for a CPU is not blocked */
#define WORK_SHARE 0.01 /* as much work makes a thread active, and a device too */

/* Where threads sit by /proc, when the syscall inventory does not tell. */
static json_t *sitting_threads(const struct xp_triage_input *input)
{
	json_t *list = json_array();

	for (size_t i = 0; i < input->threads->n_threads && json_array_size(list) < MAX_LISTED; i++) {
		const struct xp_thread_row *thread = &input->threads->threads[i];
		const char *call = thread->syscall_number.set ? xp_syscall_name(thread->syscall_number.v) : NULL;
		json_t *entry = json_object();

		json_object_set_new(entry, "tid", xp_json_count(thread->tid));
		json_object_set_new(entry, "thread_name", xp_json_text(thread->name));
		json_object_set_new(entry, "state", thread->state ? xp_json_text(thread->state) : json_null());
		json_object_set_new(entry, "syscall_name", call ? json_string(call) : json_null());
		json_object_set_new(entry, "wait_channel", thread->wait_channel ? xp_json_text(thread->wait_channel) : json_null());
		json_array_append_new(list, entry);
	}
	return list;
}

static json_t *oldest_calls(const struct xp_syscall_view *view)
{
	json_t *list = json_array();

	for (size_t i = 0; i < view->n_open && i < MAX_LISTED; i++) {
		json_t *entry = json_object();

		json_object_set_new(entry, "tid", xp_json_count(view->open[i].tid));
		json_object_set_new(entry, "thread_name", xp_json_text(view->open[i].thread_name));
		json_object_set_new(entry, "syscall_name", view->open[i].name ? json_string(view->open[i].name) : json_null());
		json_object_set_new(entry, "age_ns", xp_json_count(view->open[i].age_ns));
		json_object_set_new(entry, "started_before_window", json_boolean(view->open[i].started_before_window));
		json_array_append_new(list, entry);
	}
	return list;
}

static json_t *top_stacks(const struct xp_off_cpu_value *off_cpu, struct xp_arena *arena)
{
	json_t *list = json_array();

	for (size_t i = 0; i < off_cpu->n_groups && json_array_size(list) < MAX_STACKS; i++)
		json_array_append_new(list, xp_blocked_json(&off_cpu->groups[i], arena));
	return list;
}

/* "S" -> what it means for a reader. */
static const char *state_words(const struct xp_thread_row *main_thread)
{
	switch (main_thread && main_thread->state ? main_thread->state[0] : 'S') {
	case 'T':
		return "is stopped by a signal";
	case 't':
		return "is stopped by a tracer";
	case 'D':
		return "waits for a device or a file system and can't be interrupted";
	case 'Z':
		return "has ended and waits for its parent";
	default:
		return "waits";
	}
}

static bool anyone_did_something(const struct xp_triage_input *input)
{
	const struct xp_thread_time *threads = input->threads;

	if (!threads->n_threads || threads->active || xp_input_share(input, threads->vanished_cpu_ns) >= WORK_SHARE)
		return true;
	for (size_t i = 0; i < threads->n_threads; i++)
		if (xp_input_share(input, threads->threads[i].runqueue_ns) >= WAIT_SHARE)
			return true;
	/* Threads that wait for the process's own kernels and copies are not the end of the story. */
	struct xp_gpu_load devices[XP_GPU_DEVICES];
	size_t n = xp_gpu_loads(input, devices);
	for (size_t i = 0; i < n; i++)
		if (xp_input_share(input, devices[i].kernel_ns + devices[i].copy_ns) >= WORK_SHARE)
			return true;
	return false;
}

/* That call of that thread, made more than once: it waits again and again, perhaps for a limit of time. NULL: once, or not known. */
static const struct xp_call_use *repeated(const struct xp_triage_input *input, uint32_t tid, const char *call)
{
	for (size_t i = 0; input->syscalls && call && i < input->syscalls->n_uses; i++) {
		const struct xp_call_use *use = &input->syscalls->uses[i];

		if (use->tid == tid && use->name && !strcmp(use->name, call))
			return use->calls > 1 ? use : NULL;
	}
	return NULL;
}

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	const struct xp_thread_row *main_thread = xp_thread_time_find(input->threads, input->target.pid);
	const struct xp_thread_row *subject = main_thread ? main_thread : input->threads->threads;
	json_t *evidence = json_object();
	const char *call = NULL;

	if (anyone_did_something(input)) {
		json_decref(evidence);
		return;
	}
	json_object_set_new(evidence, "threads", xp_json_count(input->threads->count));
	json_object_set_new(evidence, "on_cpu_ns", xp_json_count(input->threads->on_cpu_ns));
	json_object_set_new(evidence, "voluntary_switches", xp_json_count(input->threads->voluntary_switches));
	json_object_set_new(evidence, "sitting_threads", sitting_threads(input));
	if (input->syscalls)
		json_object_set_new(evidence, "oldest_open_syscalls", oldest_calls(input->syscalls));
	if (input->off_cpu)
		json_object_set_new(evidence, "blocked_stacks", top_stacks(input->off_cpu, out->arena));
	if (subject->syscall_number.set)
		call = xp_syscall_name(subject->syscall_number.v);
	for (size_t i = 0; input->syscalls && !call && i < input->syscalls->n_open; i++)
		if (input->syscalls->open[i].tid == subject->tid)
			call = input->syscalls->open[i].name;
	struct xp_finding *finding = xp_finding_add(out, "fully_blocked", subject->name, 1, evidence);

	finding->tid = subject->tid;
	xp_finding_say(out, finding, "no thread of %u was active; thread %s %s%s%s", input->threads->count, subject->name,
		       state_words(subject), call ? " in " : "", call ? call : "");
	const struct xp_call_use *use = repeated(input, subject->tid, call);
	const struct xp_call_sum *sum = use ? xp_call_sum_of(input->syscalls, call) : NULL;
	if (sum)
		finding->message = xp_arena_fmt(out->arena, "%s, %llu times in %.0f ms, the longest for %.0f", finding->message,
						(unsigned long long)use->calls, (double)input->window_ns / 1e6, (double)sum->max_ns / 1e6);
	const struct xp_frame *own = call ? xp_own_blocked(input, subject->name_pattern, call, input->window_ns) : NULL;
	xp_own_say(out, finding, ", called from ", own);
	/* Who waits is known then; how long each time is the next question. */
	if (own && use)
		xp_next_call(input, out, finding, call, xp_input_per_second(input, use->calls));
	else
		xp_next_off_cpu(input, out, finding, subject->tid);
}

const struct xp_rule xp_rule_fully_blocked = {
	.code = "fully_blocked",
	.order = 100,
	.needs = 1u << XP_SOURCE_THREADS,
	.run = run,
};
