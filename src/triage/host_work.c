// SPDX-License-Identifier: Apache-2.0
/* The host's side of an idle device. In: CPU samples, blocked stacks, threads. Out: one thread's work. No state. */
#include "triage/host_work.h"

#include <string.h>

#include "base/arena.h"
#include "triage/gpu_view.h"
#include "triage/own_code.h"

#define LEAST_SHARE 0.05

/* Launches first: a thread that only waits for a device or copies from it may be another one's helper. */
static uint32_t launching_thread(const struct xp_triage_input *input)
{
	static const enum xp_cuda_call_kind kinds[] = { XP_CUDA_LAUNCH, XP_CUDA_WAIT, XP_CUDA_COPY };
	uint32_t tid = 0;

	for (size_t i = 0; i < XP_LEN(kinds) && !tid; i++)
		xp_gpu_most_under(input, kinds[i], &tid);
	return tid;
}

static void add_running(const struct xp_triage_input *input, struct xp_host_work *work, const struct xp_frame **ret_function)
{
	const struct xp_cpu_inventory *inventory = &input->cpu->inventory;
	const struct xp_cpu_thread *thread = NULL;
	struct xp_own_tally tally = { 0 };
	uint64_t under_cuda = 0;

	for (size_t i = 0; i < input->cpu->n_by_thread; i++)
		if (input->cpu->by_thread[i].tid == work->thread->tid)
			thread = &input->cpu->by_thread[i];
	if (!thread || !inventory->frequency_hz)
		return;
	for (size_t i = 0; i < thread->n_cuda; i++)
		under_cuda += thread->cuda[i].amount;
	if (thread->samples > under_cuda)
		work->cpu_ns = (thread->samples - under_cuda) * 1000000000u / inventory->frequency_hz;
	for (size_t g = 0; g < inventory->n_stack_groups; g++) {
		const struct xp_stack_group *group = &inventory->stack_groups[g];
		bool cuda = false;

		for (size_t f = 0; f < group->n_frames && !cuda; f++)
			cuda = xp_cuda_call_of(group->frames[f]->symbol) != NULL;
		if (!cuda && !strcmp(group->thread_name_pattern, thread->name_pattern))
			xp_own_add(&tally, xp_own_frame(group->frames, group->n_frames), group->samples);
	}
	*ret_function = xp_own_most(&tally, tally.total);
}

/* The call, or the wait outside of calls, that took most. Waits for Python's lock are python_gil's. */
static void add_blocked(const struct xp_triage_input *input, struct xp_host_work *work, const struct xp_frame **ret_function)
{
	uint64_t most = 0;

	for (size_t i = 0; i < input->off_cpu->n_uses; i++) {
		const struct xp_off_cpu_use *use = &input->off_cpu->uses[i];
		uint64_t aside = use->lock_ns + use->gpu_ns + use->copy_ns, ns = use->total_ns > aside ? use->total_ns - aside : 0;

		if (use->tid != work->thread->tid)
			continue;
		work->blocked_ns += ns;
		if (ns <= most)
			continue;
		most = ns;
		work->call = use->syscall_name;
		*ret_function =
			use->longest && !use->longest->cuda_call ? xp_own_frame(use->longest->frames, use->longest->n_frames) : NULL;
	}
}

struct xp_host_work xp_host_work_of(const struct xp_triage_input *input)
{
	const struct xp_frame *runs = NULL, *waits = NULL;
	struct xp_host_work work = { 0 };
	uint32_t tid = launching_thread(input);

	work.launches = tid != 0;
	work.thread = input->threads ? xp_thread_time_find(input->threads, tid ? tid : input->target.pid) : NULL;
	if (!work.thread)
		return work;
	if (input->cpu)
		add_running(input, &work, &runs);
	if (input->off_cpu)
		add_blocked(input, &work, &waits);
	bool blocked = work.blocked_ns > work.cpu_ns;
	if (xp_input_share(input, work.cpu_ns + work.blocked_ns) < LEAST_SHARE)
		work.thread = NULL;
	work.function = blocked ? waits : runs;
	work.call = blocked ? work.call : NULL;
	return work;
}

void xp_host_work_say(struct xp_findings *out, struct xp_finding *finding, const struct xp_host_work *work, uint64_t window_ns)
{
	bool blocked = work->blocked_ns > work->cpu_ns;

	if (!work->thread)
		return;
	json_t *entry = json_object();
	json_object_set_new(entry, "tid", xp_json_count(work->thread->tid));
	json_object_set_new(entry, "thread_name", xp_json_text(work->thread->name));
	json_object_set_new(entry, "launches", json_boolean(work->launches));
	json_object_set_new(entry, "cpu_ns", xp_json_count(work->cpu_ns));
	json_object_set_new(entry, "blocked_ns", xp_json_count(work->blocked_ns));
	json_object_set_new(entry, "syscall_name", work->call ? json_string(work->call) : json_null());
	json_object_set_new(finding->evidence, "host_work", entry);
	finding->message =
		xp_arena_fmt(out->arena, "%s; beside CUDA calls thread %s %s for about %.0f ms of %.0f ms%s%s", finding->message,
			     work->thread->name, blocked ? "was blocked" : "ran", (double)(blocked ? work->blocked_ns : work->cpu_ns) / 1e6,
			     (double)window_ns / 1e6, work->call ? ", mostly in " : "", work->call ? work->call : "");
	xp_own_say(out, finding, work->call ? ", called from " : ", mostly in ", work->function);
}
