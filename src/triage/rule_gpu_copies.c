// SPDX-License-Identifier: Apache-2.0
/* Copies of one direction and memory kind took a noticeable part of the window. */
#include "triage/gpu_view.h"
#include "triage/rule.h"

enum { MAX_GROUPS = 3 };
#define LEAST_SHARE 0.10

static void tell(const struct xp_triage_input *input, const struct xp_gpu_group *group, struct xp_findings *out)
{
	const char *direction = xp_memcpy_kind_names[group->memcpy_kind];
	const char *from = xp_memory_kind_names[group->src_memory], *to = xp_memory_kind_names[group->dst_memory];
	double seconds = (double)group->duration_ns.total / 1e9;
	json_t *evidence = json_object();

	json_object_set_new(evidence, "direction", json_string(direction));
	json_object_set_new(evidence, "src_memory", json_string(from));
	json_object_set_new(evidence, "dst_memory", json_string(to));
	json_object_set_new(evidence, "count", xp_json_count(group->count));
	json_object_set_new(evidence, "total_ns", xp_json_count(group->duration_ns.total));
	json_object_set_new(evidence, "bytes", xp_json_count(group->total_bytes.v));
	json_object_set_new(evidence, "bytes_per_second", seconds > 0 ? json_real((double)group->total_bytes.v / seconds) : json_null());
	json_object_set_new(evidence, "device", group->device_id.set ? xp_json_count(group->device_id.v) : json_null());
	struct xp_finding *finding = xp_finding_add(out, "gpu_copies", xp_arena_fmt(out->arena, "%s %s to %s", direction, from, to),
						    xp_input_share(input, group->duration_ns.total), evidence);

	if (group->src_memory == XP_MEMORY_PAGEABLE || group->dst_memory == XP_MEMORY_PAGEABLE)
		finding->call = direction;
	xp_finding_say(out, finding, "%llu copies %s (%s to %s) took %.0f ms of %.0f ms for %.1f MB", (unsigned long long)group->count,
		       direction, from, to, (double)group->duration_ns.total / 1e6, (double)input->window_ns / 1e6,
		       (double)group->total_bytes.v / 1e6);
	xp_next_gpu_group(input, out, finding, group, xp_arena_fmt(out->arena, "copy_%s", direction));
}

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	const struct xp_gpu_inventory *copies = &input->cuda_copies->inventory;
	unsigned told = 0;

	for (size_t i = 0; i < copies->n_groups && told < MAX_GROUPS; i++) { /* by total falling */
		const struct xp_gpu_group *group = &copies->groups[i];

		if (group->activity != XP_GPU_MEMCPY || xp_input_share(input, group->duration_ns.total) < LEAST_SHARE)
			continue;
		tell(input, group, out);
		told++;
	}
}

/* A device that copies for most of its idle time is idle for that. */
static const struct xp_take takes[] = { { "gpu_idle", XP_TAKE_IN_COPY }, { NULL } };

const struct xp_rule xp_rule_gpu_copies = {
	.code = "gpu_copies",
	.order = 210,
	.needs = 1u << XP_SOURCE_CUDA_COPIES,
	.takes = takes,
	.run = run,
};
