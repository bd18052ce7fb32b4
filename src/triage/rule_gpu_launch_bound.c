// SPDX-License-Identifier: Apache-2.0
/* A device runs many short kernels and waits for the next one to be launched. */
#include "triage/gpu_view.h"
#include "triage/rule.h"

#define LEAST_PER_SECOND 5000.0
#define MOST_MEAN_NS 20000.0
#define MOST_BUSY 0.80
#define LAUNCHING_SHARE 0.02 /* a thread that is sampled so often below a launch is one that launches */

/* Threads that launch: that they run all the time is the cause seen from the other side. */
static void add_threads(const struct xp_triage_input *input, struct xp_finding *finding, struct xp_arena *arena)
{
	uint32_t *tids;

	if (!input->cpu)
		return;
	tids = xp_arena_array(arena, uint32_t, input->cpu->n_by_thread + 1);
	for (size_t i = 0; i < input->cpu->n_by_thread; i++) {
		uint32_t tid = input->cpu->by_thread[i].tid;

		if (xp_gpu_call_share(input, tid, XP_CUDA_LAUNCH) >= LAUNCHING_SHARE)
			tids[finding->n_tids++] = tid;
	}
	finding->tids = tids;
}

static void tell(const struct xp_triage_input *input, const struct xp_gpu_load *device, struct xp_findings *out)
{
	const struct xp_cuda_account *cuda = input->cuda_kernels->collection.cuda;
	double mean_ns = (double)device->kernel_ns / (double)device->kernels;
	const char *name = xp_gpu_device_name(out->arena, device->index);
	json_t *evidence = json_object();

	json_object_set_new(evidence, "kernels", xp_json_count(device->kernels));
	json_object_set_new(evidence, "kernels_per_second", json_real(xp_input_per_second(input, device->kernels)));
	json_object_set_new(evidence, "mean_ns", json_real(mean_ns));
	json_object_set_new(evidence, "busy_share", json_real(device->busy));
	json_object_set_new(evidence, "launches", xp_json_count(cuda->api_launches_seen));
	json_object_set_new(evidence, "graph_launches", xp_json_count(cuda->graph_launches_seen));
	struct xp_finding *finding = xp_finding_add(out, "gpu_launch_bound", name, 1 - device->busy, evidence);
	/* Every launch ends in a call of the driver, so that domain has launched most in any program. */
	struct xp_next_gpu next = {
		.name = xp_arena_fmt(out->arena, "launch_to_kernel_%s", name),
		.per_second = xp_input_per_second(input, device->kernels),
		.policy = XP_POLICY_EXACT,
		.from = "cuda:driver_api:@launch:entry",
		.to = "cuda:kernel_start",
	};

	finding->confidence = XP_ESTIMATED;
	finding->in_launch = true;
	add_threads(input, finding, out->arena);
	xp_finding_say(out, finding, "GPU %s ran %.0f kernels a second of %.1f us each and was idle for %.0f ms of %.0f ms in between",
		       name, xp_input_per_second(input, device->kernels), mean_ns / 1e3,
		       (1 - device->busy) * (double)input->window_ns / 1e6, (double)input->window_ns / 1e6);
	xp_next_gpu(input, out, finding, &next);
}

bool xp_gpu_is_launch_bound(const struct xp_triage_input *input, const struct xp_gpu_load *device)
{
	return device->kernels && xp_input_per_second(input, device->kernels) >= LEAST_PER_SECOND &&
	       (double)device->kernel_ns / (double)device->kernels < MOST_MEAN_NS && device->busy < MOST_BUSY;
}

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	struct xp_gpu_load devices[XP_GPU_DEVICES];
	size_t n = xp_gpu_loads(input, devices);

	for (size_t i = 0; i < n; i++)
		if (xp_gpu_is_launch_bound(input, &devices[i]))
			tell(input, &devices[i], out);
}

static const struct xp_take takes[] = {
	{ "cpu_bound_thread", XP_TAKE_SAME_THREAD }, { "cpu_hot_path", XP_TAKE_SAME_THREAD }, { "cpu_hotspot", XP_TAKE_IN_LAUNCH }, { NULL }
};

const struct xp_rule xp_rule_gpu_launch_bound = {
	.code = "gpu_launch_bound",
	.order = 180,
	.needs = 1u << XP_SOURCE_CUDA_KERNELS,
	.takes = takes,
	.run = run,
};
