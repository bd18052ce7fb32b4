// SPDX-License-Identifier: Apache-2.0
/* A device that had kernels to run stood idle for most of the window. */
#include "triage/gpu_view.h"
#include "triage/host_work.h"
#include "triage/rule.h"

#define MOST_BUSY 0.50
#define EXPLAINED 0.50 /* copies that fill this part of the idle time are its cause */

static void tell(const struct xp_triage_input *input, const struct xp_gpu_load *device, struct xp_findings *out)
{
	double idle = 1 - device->busy, copying = xp_input_share(input, device->copy_ns), calling;
	const char *name = xp_gpu_device_name(out->arena, device->index);
	json_t *evidence = json_object();
	uint32_t tid;

	calling = xp_gpu_most_under(input, XP_CUDA_COPY, &tid);
	json_object_set_new(evidence, "kernels", xp_json_count(device->kernels));
	json_object_set_new(evidence, "kernel_ns", xp_json_count(device->kernel_ns));
	json_object_set_new(evidence, "copy_ns", xp_json_count(device->copy_ns));
	json_object_set_new(evidence, "busy_share", json_real(device->busy));
	struct xp_finding *finding = xp_finding_add(out, "gpu_idle", name, idle, evidence);
	struct xp_next_gpu next = {
		.name = xp_arena_fmt(out->arena, "gpu_gaps_%s", name),
		.per_second = xp_input_per_second(input, device->kernels),
		.policy = XP_POLICY_STREAM_ORDER,
		.from = "cuda:kernel_end",
		.to = "cuda:kernel_start",
	};

	finding->confidence = XP_ESTIMATED;
	finding->in_copy = (copying > calling ? copying : calling) >= EXPLAINED * idle;
	xp_finding_say(out, finding, "GPU %s ran %llu kernels and was idle for %.0f ms of %.0f ms", name,
		       (unsigned long long)device->kernels, idle * (double)input->window_ns / 1e6, (double)input->window_ns / 1e6);
	struct xp_host_work work = xp_host_work_of(input);
	xp_host_work_say(out, finding, &work, input->window_ns);
	xp_next_gpu(input, out, finding, &next);
}

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	struct xp_gpu_load devices[XP_GPU_DEVICES];
	size_t n = xp_gpu_loads(input, devices);

	for (size_t i = 0; i < n; i++)
		if (devices[i].kernels && devices[i].busy < MOST_BUSY && !xp_gpu_is_launch_bound(input, &devices[i]))
			tell(input, &devices[i], out);
}

const struct xp_rule xp_rule_gpu_idle = {
	.code = "gpu_idle",
	.order = 190,
	.needs = 1u << XP_SOURCE_CUDA_KERNELS,
	.run = run,
};
