// SPDX-License-Identifier: Apache-2.0
/* Kernels of one name kept a device for a noticeable part of the window. */
#include "triage/gpu_view.h"
#include "triage/rule.h"

enum { MAX_KERNELS = 3 };
#define LEAST_SHARE 0.10

static void tell(const struct xp_triage_input *input, const struct xp_gpu_group *group, const struct xp_gpu_load *device,
		 struct xp_findings *out)
{
	const char *name = xp_gpu_kernel_name(out->arena, group);
	json_t *evidence = json_object();

	json_object_set_new(evidence, "count", xp_json_count(group->count));
	json_object_set_new(evidence, "total_ns", xp_json_count(group->duration_ns.total));
	json_object_set_new(evidence, "mean_ns", json_real(group->duration_ns.mean));
	json_object_set_new(evidence, "max_ns", xp_json_count(group->duration_ns.max));
	json_object_set_new(evidence, "device", group->device_id.set ? xp_json_count(group->device_id.v) : json_null());
	json_object_set_new(evidence, "device_busy_share", device ? json_real(device->busy) : json_null());
	json_object_set_new(evidence, "in_graph", xp_json_count(group->in_graph));
	struct xp_finding *finding = xp_finding_add(out, "gpu_kernel", name, xp_input_share(input, group->duration_ns.total), evidence);

	xp_finding_say(out, finding, "GPU %s ran %s for %.0f ms of %.0f ms: %llu times, %.1f us each",
		       xp_gpu_device_name(out->arena, group->device_id), name, (double)group->duration_ns.total / 1e6,
		       (double)input->window_ns / 1e6, (unsigned long long)group->count, group->duration_ns.mean / 1e3);
	xp_next_gpu_group(input, out, finding, group, name);
}

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	const struct xp_gpu_inventory *kernels = &input->cuda_kernels->inventory;
	struct xp_gpu_load devices[XP_GPU_DEVICES];
	size_t n = xp_gpu_loads(input, devices);
	unsigned told = 0;

	for (size_t i = 0; i < kernels->n_groups && told < MAX_KERNELS; i++) { /* by total falling */
		const struct xp_gpu_group *group = &kernels->groups[i];

		if (xp_input_share(input, group->duration_ns.total) < LEAST_SHARE)
			return;
		tell(input, group, xp_gpu_load_of(devices, n, group), out);
		told++;
	}
}

/* A thread that waits for a device which one kernel keeps for most of the window waits for that kernel. */
static const struct xp_take takes[] = { { "gpu_wait", XP_TAKE_SAME_CALL }, { NULL } };

const struct xp_rule xp_rule_gpu_kernel = {
	.code = "gpu_kernel",
	.order = 170,
	.needs = 1u << XP_SOURCE_CUDA_KERNELS,
	.takes = takes,
	.run = run,
};
