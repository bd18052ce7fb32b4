// SPDX-License-Identifier: Apache-2.0
/* The PCIe link of a GPU has fewer lanes, or a lower generation, than it could have. */
#include "triage/gpu_device.h"
#include "triage/rule.h"

#define BUSY 0.2 /* an idle GPU lowers the generation by itself */

static bool below(struct xp_opt_u32 value, struct xp_opt_u32 most)
{
	return value.set && most.set && value.v < most.v;
}

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	for (size_t i = 0; i < input->gpu->n_devices; i++) {
		const struct xp_gpu_device *device = &input->gpu->devices[i];
		bool narrow = below(device->pcie_width, device->pcie_width_max), slow;

		slow = below(device->pcie_generation, device->pcie_generation_max) && device->utilization.set &&
		       device->utilization.v > BUSY;
		if (!narrow && !slow)
			continue;
		struct xp_finding *finding = xp_gpu_finding(out, "gpu_link_degraded", device, -1);

		xp_gpu_tell_u32(finding, "pcie_width", device->pcie_width);
		xp_gpu_tell_u32(finding, "pcie_width_max", device->pcie_width_max);
		xp_gpu_tell_u32(finding, "pcie_generation", device->pcie_generation);
		xp_gpu_tell_u32(finding, "pcie_generation_max", device->pcie_generation_max);
		json_object_set_new(finding->evidence, "utilization",
				    device->utilization.set ? json_real(device->utilization.v) : json_null());
		if (narrow)
			xp_finding_say(out, finding, "the PCIe link of GPU %u has %u of %u lanes", device->index, device->pcie_width.v,
				       device->pcie_width_max.v);
		else
			xp_finding_say(out, finding, "the PCIe link of GPU %u runs at generation %u of %u under load", device->index,
				       device->pcie_generation.v, device->pcie_generation_max.v);
		xp_next_gpu_state(
			out, finding, "gpu_link", device, NULL,
			"seat the card anew, or check the slot, its riser and the firmware: copies between host and GPU are slower "
			"than they could be");
	}
}

const struct xp_rule xp_rule_gpu_link_degraded = {
	.code = "gpu_link_degraded",
	.order = 240,
	.needs = 1u << XP_SOURCE_GPU,
	.run = run,
};
