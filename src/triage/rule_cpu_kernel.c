// SPDX-License-Identifier: Apache-2.0
/* A thread that spends a noticeable part of the window computing in the kernel. */
#include <string.h>

#include "base/arena.h"
#include "triage/blocked.h"
#include "triage/command.h"
#include "triage/cpu_view.h"
#include "triage/own_code.h"
#include "triage/rule.h"

enum { MAX_PATTERNS = 3 };
#define LEAST_SHARE 0.20
#define RECLAIM_SHARE 0.40
#define CAUSE_SHARE 0.60 /* contract 14.1a: a call with that part of the kernel samples is their cause */

/* What most kernel samples of the thread are about; faults of user code belong to no call. */
static const char *const page_faults = "page faults";

/* Without a sample inside a call that is known by name: the call that kept the thread running longest. */
static const char *longest_call(const struct xp_triage_input *input, uint32_t tid)
{
	const char *name = NULL;
	uint64_t most = 0;

	for (size_t i = 0; input->syscalls && i < input->syscalls->n_uses; i++) {
		const struct xp_call_use *use = &input->syscalls->uses[i];
		uint64_t blocked = use->name ? xp_blocked_in(input->off_cpu, tid, use->name).total_ns : 0;

		if (use->tid != tid || !use->name || use->total_ns <= blocked || use->total_ns - blocked <= most)
			continue;
		name = use->name;
		most = use->total_ns - blocked;
	}
	return name;
}

static const char *cause_of(const struct xp_triage_input *input, const struct xp_cpu_thread *thread)
{
	uint64_t in_call = thread->n_calls ? thread->calls[0].samples : 0;

	if (thread->fault_samples > in_call && thread->fault_samples * 2 >= thread->kernel_samples)
		return page_faults;
	return in_call ? thread->calls[0].name : longest_call(input, thread->tid);
}

static double calls_per_second(const struct xp_triage_input *input, const char *name)
{
	const struct xp_call_sum *sum = input->syscalls ? xp_call_sum_of(input->syscalls, name) : NULL;

	return sum ? xp_input_per_second(input, sum->calls) : 0;
}

/* The kernel function on top of most of the thread's samples. */
static const struct xp_hotspot *top_function(const struct xp_triage_input *input, uint32_t tid)
{
	for (size_t i = 0; i < input->cpu->inventory.n_hotspots; i++) {
		const struct xp_hotspot *spot = &input->cpu->inventory.hotspots[i];

		if (spot->frame->kind == XP_FRAME_KERNEL && spot->by_exclusive.tid == tid && spot->frame->symbol)
			return spot;
	}
	return NULL;
}

/* The kernel looks for memory that it can take back: for the group at its limit, or for the whole machine. */
static bool reclaims(const struct xp_stack_group *group, bool *ret_limit)
{
	static const char *const names[] = { "try_to_free_mem_cgroup_pages", "mem_cgroup_handle_over_high", "try_to_free_pages" };

	for (size_t f = 0; f < group->n_frames && group->frames[f]->kind == XP_FRAME_KERNEL; f++)
		for (size_t i = 0; i < XP_LEN(names); i++)
			if (group->frames[f]->symbol && !strncmp(group->frames[f]->symbol, names[i], strlen(names[i]))) {
				*ret_limit = i < 2;
				return true;
			}
	return false;
}

/* Whatever the thread called, it is memory that lacks. False, and nothing said: most of its kernel time is work of its own. */
static bool say_reclaim(const struct xp_triage_input *input, const struct xp_cpu_thread *thread, struct xp_findings *out,
			struct xp_finding *finding)
{
	uint64_t samples = 0, all = 0, in_limit = 0;

	for (size_t i = 0; i < input->cpu->inventory.n_stack_groups; i++) {
		const struct xp_stack_group *group = &input->cpu->inventory.stack_groups[i];
		bool limit = false;

		if (!group->n_frames || group->frames[0]->kind != XP_FRAME_KERNEL ||
		    strcmp(group->thread_name_pattern, thread->name_pattern) != 0)
			continue;
		all += group->samples;
		samples += reclaims(group, &limit) ? group->samples : 0;
		in_limit += limit ? group->samples : 0;
	}
	double share = all ? (double)samples / (double)all : 0;
	bool limit = in_limit * 2 >= samples;

	json_object_set_new(finding->evidence, "memory_reclaim_share", json_real(share));
	if (share < RECLAIM_SHARE)
		return false;
	finding->message = xp_arena_fmt(out->arena, "%s; %.0f%% of it takes memory back, for %s", finding->message, share * 100,
					limit ? "the control group is at its memory limit" : "the machine has no free memory left");
	xp_next_action(out, finding, "check_memory", NULL, NULL,
		       limit ? "raise the memory limit of the control group, or keep less in memory; files that are read count, too"
			     : "free memory on this machine, or keep less in memory");
	return true;
}

static void tell(const struct xp_triage_input *input, struct xp_findings *out, const struct xp_cpu_thread *thread)
{
	double share = xp_cpu_share(input, thread->kernel_samples);
	const struct xp_hotspot *top = top_function(input, thread->tid);
	const char *cause = cause_of(input, thread), *call = cause == page_faults ? NULL : cause;
	double part = thread->n_calls ? (double)thread->calls[0].samples / (double)thread->kernel_samples : 0;
	json_t *evidence = json_object();

	json_object_set_new(evidence, "tid", xp_json_count(thread->tid));
	json_object_set_new(evidence, "kernel_samples", xp_json_count(thread->kernel_samples));
	json_object_set_new(evidence, "samples", xp_json_count(thread->samples));
	json_object_set_new(evidence, "syscall_name", call ? json_string(call) : json_null());
	json_object_set_new(evidence, "syscall_share", thread->n_calls ? json_real(part) : json_null());
	json_object_set_new(evidence, "page_fault_share", json_real((double)thread->fault_samples / (double)thread->kernel_samples));
	json_object_set_new(evidence, "kernel_function", top ? xp_json_text(top->frame->symbol) : json_null());
	if (top)
		json_object_set_new(evidence, "stack", xp_cpu_stack(input, top, 10));
	struct xp_finding *finding = xp_finding_add(out, "cpu_kernel", thread->name, share, evidence);

	finding->tid = thread->tid;
	finding->call = part >= CAUSE_SHARE ? call : NULL;
	finding->window_share_interval_95 = xp_cpu_interval(input, thread->kernel_samples);
	finding->confidence = XP_ESTIMATED;
	xp_finding_say(out, finding, "thread %s computed for about %.0f ms of %.0f ms in the kernel%s%s", thread->name,
		       share * (double)input->window_ns / 1e6, (double)input->window_ns / 1e6, cause ? ", mostly in " : "",
		       cause ? cause : "");
	/* A handler's signal comes where the thread happens to be. */
	bool signals = cause && !strcmp(cause, "rt_sigreturn");
	if (signals)
		finding->message = xp_arena_fmt(out->arena, "%s, which ends each signal's handler", finding->message);
	xp_own_say(out, finding,
		   cause == page_faults ? " of "
		   : signals		? ", in the middle of "
					: ", called from ",
		   xp_own_in_kernel(input, thread->name_pattern));
	if (say_reclaim(input, thread, out, finding))
		return;
	if (call)
		xp_next_call(input, out, finding, call, calls_per_second(input, call));
	else
		xp_next_cpu_samples(input, out, finding, thread->tid);
}

/* One finding a name pattern, about its thread with most kernel samples. */
static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	const struct xp_cpu_samples *cpu = input->cpu;
	const char *told[MAX_PATTERNS];

	for (unsigned n = 0; n < MAX_PATTERNS; n++) {
		const struct xp_cpu_thread *best = NULL;

		for (size_t i = 0; i < cpu->n_by_thread; i++) {
			const struct xp_cpu_thread *thread = &cpu->by_thread[i];
			bool known = false;

			for (unsigned t = 0; t < n; t++)
				known |= !strcmp(told[t], thread->name_pattern);
			if (!known && (!best || thread->kernel_samples > best->kernel_samples))
				best = thread;
		}
		if (!best || xp_cpu_share(input, best->kernel_samples) < LEAST_SHARE)
			return;
		told[n] = best->name_pattern;
		tell(input, out, best);
	}
}

static const struct xp_take takes[] = { { "cpu_bound_thread", XP_TAKE_SAME_THREAD }, { NULL } };

const struct xp_rule xp_rule_cpu_kernel = {
	.code = "cpu_kernel",
	.order = 50,
	.needs = 1u << XP_SOURCE_CPU_SAMPLES,
	.takes = takes,
	.run = run,
};
