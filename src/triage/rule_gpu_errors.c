// SPDX-License-Identifier: Apache-2.0
/* A GPU counted uncorrected memory errors in the window, waits for a row to be replaced, or stopped answering. */
#include "triage/gpu_device.h"
#include "triage/rule.h"

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	for (size_t i = 0; i < input->gpu->n_devices; i++) {
		const struct xp_gpu_device *device = &input->gpu->devices[i];
		bool rose = device->ecc_uncorrected_new.set && device->ecc_uncorrected_new.v, pending = device->remap_pending.v;

		if (!rose && !pending && !device->lost)
			continue;
		struct xp_finding *finding = xp_gpu_finding(out, "gpu_errors", device, -1);

		xp_gpu_tell_u64(finding, "ecc_uncorrected_new", device->ecc_uncorrected_new);
		xp_gpu_tell_u64(finding, "ecc_uncorrected", device->ecc_uncorrected);
		json_object_set_new(finding->evidence, "remap_pending",
				    device->remap_pending.set ? json_boolean(device->remap_pending.v) : json_null());
		json_object_set_new(finding->evidence, "lost", json_boolean(device->lost));
		if (device->lost)
			xp_finding_say(out, finding, "GPU %u stopped answering in the window: %s", device->index, device->note);
		else if (rose)
			xp_finding_say(out, finding, "GPU %u counted %llu uncorrected memory errors in the window", device->index,
				       (unsigned long long)device->ecc_uncorrected_new.v);
		else
			xp_finding_say(out, finding, "GPU %u has a faulty memory row that waits for a reset to be replaced", device->index);
		xp_next_gpu_state(out, finding, "gpu_health", device, device->lost ? "PERFORMANCE" : "ECC,ROW_REMAPPER",
				  "drain the GPU and reset it; when errors come back, have it replaced");
	}
}

const struct xp_rule xp_rule_gpu_errors = {
	.code = "gpu_errors",
	.order = 260,
	.needs = 1u << XP_SOURCE_GPU,
	.run = run,
};
