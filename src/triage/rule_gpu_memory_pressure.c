// SPDX-License-Identifier: Apache-2.0
/* The memory of a GPU is nearly full. */
#include "triage/gpu_device.h"
#include "triage/rule.h"

#define FULL 0.95

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	for (size_t i = 0; i < input->gpu->n_devices; i++) {
		const struct xp_gpu_device *device = &input->gpu->devices[i];
		double total = (double)device->memory_total.v, used = (double)device->memory_used.v;

		if (!device->memory_used.set || !device->memory_total.v || used / total < FULL)
			continue;
		struct xp_finding *finding = xp_gpu_finding(out, "gpu_memory_pressure", device, -1);

		xp_gpu_tell_u64(finding, "memory_used", device->memory_used);
		xp_gpu_tell_u64(finding, "memory_total", device->memory_total);
		xp_gpu_tell_u64(finding, "process_memory", device->process_memory);
		json_object_set_new(finding->evidence, "used_share", json_real(used / total));
		xp_finding_say(out, finding, "the memory of GPU %u is %.1f %% full: %.1f of %.1f GiB", device->index, used / total * 100,
			       used / (1 << 30), total / (1 << 30));
		xp_next_gpu_state(out, finding, "gpu_memory", device, "MEMORY",
				  "allocators that run out free, wait and retry: use less memory, or move other processes away");
	}
}

const struct xp_rule xp_rule_gpu_memory_pressure = {
	.code = "gpu_memory_pressure",
	.order = 250,
	.needs = 1u << XP_SOURCE_GPU,
	.run = run,
};
