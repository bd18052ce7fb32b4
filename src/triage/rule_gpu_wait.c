// SPDX-License-Identifier: Apache-2.0
/* A thread waits for a GPU: blocked or spinning below a call that returns when the device is done. */
#include <string.h>

#include "triage/blocked.h"
#include "triage/cpu_view.h"
#include "triage/gpu_view.h"
#include "triage/rule.h"

#define LEAST_SHARE 0.20
#define DEVICE_BUSY 0.50 /* from here on the device's work is what the thread waits for */
#define QUEUE_FULL 0.90	 /* a launch below a device that busy waits for room in the queue */
#define KERNEL_SHARE 0.50
#define TOLD_BY_HOTSPOT 0.10
#define TOLD_BY_SYSCALL 0.05

struct wait {
	uint32_t tid;
	const char *thread_name;
	double share;		       /* of all its waiting calls */
	double call_share;	       /* of the largest one */
	const struct xp_cuda_use *use; /* of that, with the stack that took most of it */
	uint64_t samples, blocked_ns;
};

/* Which calls make a thread wait in this window. */
struct waiting {
	bool kinds[XP_CUDA_CALL_KINDS];
};

static void add_use(const struct xp_triage_input *input, const struct waiting *waiting, const struct xp_cuda_use *use, bool blocks,
		    struct wait *wait)
{
	double share = blocks ? xp_input_share(input, use->amount) : xp_cpu_share(input, use->amount);

	if (use->tid != wait->tid || !waiting->kinds[use->call->kind])
		return;
	wait->share += share;
	wait->samples += blocks ? 0 : use->amount;
	wait->blocked_ns += blocks ? use->amount : 0;
	if (wait->use && share <= wait->call_share)
		return;
	wait->use = use;
	wait->call_share = share;
	wait->thread_name = use->thread_name;
}

static struct wait wait_of(const struct xp_triage_input *input, const struct waiting *waiting, uint32_t tid)
{
	struct wait wait = { .tid = tid };

	for (size_t i = 0; input->cpu && i < input->cpu->n_by_thread; i++)
		for (size_t c = 0; c < input->cpu->by_thread[i].n_cuda; c++)
			add_use(input, waiting, &input->cpu->by_thread[i].cuda[c], false, &wait);
	for (size_t i = 0; input->off_cpu && i < input->off_cpu->n_cuda; i++)
		add_use(input, waiting, &input->off_cpu->cuda[i], true, &wait);
	return wait;
}

static struct wait longest_wait(const struct xp_triage_input *input, const struct waiting *waiting)
{
	struct wait longest = { 0 };

	for (size_t i = 0; input->cpu && i < input->cpu->n_by_thread; i++) {
		struct wait wait = wait_of(input, waiting, input->cpu->by_thread[i].tid);

		longest = wait.share > longest.share ? wait : longest;
	}
	for (size_t i = 0; input->off_cpu && i < input->off_cpu->n_cuda; i++) {
		struct wait wait = wait_of(input, waiting, input->off_cpu->cuda[i].tid);

		longest = wait.share > longest.share ? wait : longest;
	}
	return longest;
}

static json_t *evidence_of(const struct wait *wait, const struct xp_gpu_load *device, struct xp_arena *arena)
{
	const struct xp_cuda_use *use = wait->use;
	struct xp_off_cpu_group stack = { .frames = use->frames, .n_frames = use->n_frames, .total_ns = use->of_line };
	json_t *evidence = json_object();

	/* What the driver does below the call tells nobody anything. */
	for (size_t i = 0; i < use->n_frames; i++) {
		if (xp_cuda_call_of(use->frames[i]->symbol) != use->call)
			continue;
		stack.frames = use->frames + i;
		stack.n_frames = use->n_frames - i;
	}

	json_object_set_new(evidence, "tid", xp_json_count(wait->tid));
	json_object_set_new(evidence, "thread_name", wait->thread_name ? xp_json_text(wait->thread_name) : json_null());
	json_object_set_new(evidence, "call", json_string(wait->use->call->name));
	json_object_set_new(evidence, "call_share", json_real(wait->call_share));
	json_object_set_new(evidence, "samples", xp_json_count(wait->samples));
	json_object_set_new(evidence, "blocked_ns", xp_json_count(wait->blocked_ns));
	json_object_set_new(evidence, "busy_share", device ? json_real(device->busy) : json_null());
	json_object_set_new(evidence, "stack", xp_blocked_stack_json(&stack, arena));
	json_object_set_new(evidence, "python_line", xp_blocked_python_line(&stack, use->amount));
	return evidence;
}

/* What would have told of the same time as something else. */
static void add_absorbed(const struct xp_triage_input *input, const struct wait *wait, struct xp_finding *finding)
{
	struct xp_opt_f64 spinning = XP_SOME(wait->samples ? xp_cpu_share(input, wait->samples) : 0);

	if (spinning.v >= TOLD_BY_HOTSPOT)
		xp_finding_absorb(finding, "cpu_hotspot", wait->use->call->name, spinning);
	for (size_t i = 0; input->off_cpu && i < input->off_cpu->n_uses; i++) {
		const struct xp_off_cpu_use *use = &input->off_cpu->uses[i];
		struct xp_opt_f64 blocked = XP_SOME(xp_input_share(input, use->gpu_ns));

		if (use->tid == wait->tid && use->syscall_name && blocked.v >= TOLD_BY_SYSCALL)
			xp_finding_absorb(finding, "syscall_blocked", use->syscall_name, blocked);
	}
}

/* A busy device: its largest kernel. An idle one: the call itself, whose waits are then short or the work's submission is slow. */
static void propose(const struct xp_triage_input *input, const struct wait *wait, const struct xp_gpu_load *device,
		    struct xp_finding *finding, struct xp_findings *out)
{
	const char *call = wait->use->call->name, *domain = strncmp(call, "cuda", 4) ? "driver_api" : "runtime_api";
	struct xp_next_gpu next = {
		.name = call,
		.policy = XP_POLICY_EXACT,
		.from = xp_arena_fmt(out->arena, "cuda:%s:%s:entry", domain, call),
		.to = xp_arena_fmt(out->arena, "cuda:%s:%s:exit", domain, call),
	};

	if (!device || device->busy < DEVICE_BUSY || !device->top) {
		xp_next_gpu(input, out, finding, &next);
		return;
	}
	const char *kernel = xp_gpu_kernel_name(out->arena, device->top);

	xp_next_gpu_group(input, out, finding, device->top, kernel);
	if (xp_input_share(input, device->top->duration_ns.total) >= KERNEL_SHARE)
		finding->call = kernel;
}

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	struct xp_gpu_load devices[XP_GPU_DEVICES];
	const struct xp_gpu_load *device = xp_gpu_loads(input, devices) ? devices : NULL; /* the busiest */
	struct waiting waiting = { .kinds = {
					   [XP_CUDA_WAIT] = true,
					   [XP_CUDA_COPY] = xp_gpu_copies_pageable(input),
					   [XP_CUDA_LAUNCH] = device && device->busy >= QUEUE_FULL,
				   } };
	struct wait wait = longest_wait(input, &waiting);

	if (!wait.use || wait.share < LEAST_SHARE)
		return;
	struct xp_finding *finding =
		xp_finding_add(out, "gpu_wait", wait.use->call->name, wait.share, evidence_of(&wait, device, out->arena));

	finding->tid = wait.tid;
	finding->confidence = wait.samples ? XP_ESTIMATED : XP_MEASURED;
	if (wait.samples && !wait.blocked_ns)
		finding->window_share_interval_95 = xp_cpu_interval(input, wait.samples);
	finding->condition = device && device->busy >= DEVICE_BUSY;
	finding->in_launch = waiting.kinds[XP_CUDA_LAUNCH];
	finding->in_copy = wait.use->call->kind == XP_CUDA_COPY || (strstr(wait.use->call->name, "Memcpy") && waiting.kinds[XP_CUDA_COPY]);
	xp_finding_say(out, finding, "thread %s waited for the GPU for about %.0f ms of %.0f ms, mostly in %s",
		       wait.thread_name ? wait.thread_name : "?", wait.share * (double)input->window_ns / 1e6,
		       (double)input->window_ns / 1e6, wait.use->call->name);
	add_absorbed(input, &wait, finding);
	propose(input, &wait, device, finding, out);
}

static const struct xp_take takes[] = { { "cpu_bound_thread", XP_TAKE_SAME_THREAD },
					{ "cpu_hotspot", XP_TAKE_IN_LAUNCH },
					{ "syscall_blocked", XP_TAKE_CONDITION },
					{ NULL } };

/* Either of its sources will do, so neither is needed. Before gpu_kernel, which may take it with what it took. */
const struct xp_rule xp_rule_gpu_wait = {
	.code = "gpu_wait",
	.order = 165,
	.takes = takes,
	.run = run,
};
