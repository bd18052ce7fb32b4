// SPDX-License-Identifier: Apache-2.0
/* Findings about the state of a GPU. In: a device. Out: finding, evidence, next step. No state. */
#include "triage/gpu_device.h"

struct xp_finding *xp_gpu_finding(struct xp_findings *list, const char *code, const struct xp_gpu_device *device, double window_share)
{
	return xp_finding_add(list, code, xp_arena_fmt(list->arena, "%u", device->index), window_share, NULL);
}

void xp_gpu_tell_u32(struct xp_finding *finding, const char *key, struct xp_opt_u32 value)
{
	json_object_set_new(finding->evidence, key, value.set ? xp_json_count(value.v) : json_null());
}

void xp_gpu_tell_u64(struct xp_finding *finding, const char *key, struct xp_opt_u64 value)
{
	json_object_set_new(finding->evidence, key, value.set ? xp_json_count(value.v) : json_null());
}

void xp_next_gpu_state(struct xp_findings *list, struct xp_finding *finding, const char *code, const struct xp_gpu_device *device,
		       const char *part, const char *message)
{
	/* Comes with the library that the numbers are from. */
	const char *const command[] = { "nvidia-smi", "-i", device->uuid, "-q", part ? "-d" : NULL, part, NULL };

	/* Behind the numbers: a report for people shows the first members. */
	json_object_set_new(finding->evidence, "uuid", xp_json_text(device->uuid));
	json_object_set_new(finding->evidence, "name", device->name ? xp_json_text(device->name) : json_null());
	xp_next_action(list, finding, code, device->uuid, command, "%s", message);
}
