// SPDX-License-Identifier: Apache-2.0
/* Copies whose host side is pageable memory: the driver moves them through buffers of its own, and the caller waits. */
#include <string.h>

#include "triage/gpu_view.h"
#include "triage/rule.h"

#define LEAST_SHARE 0.05
#define LEAST_PER_SECOND 100.0

struct direction {
	int kind; /* enum xp_memcpy_kind */
	struct xp_opt_u32 device;
	uint64_t count, bytes, ns;
};

static bool is_pageable(const struct xp_gpu_group *group)
{
	return group->activity == XP_GPU_MEMCPY && (group->src_memory == XP_MEMORY_PAGEABLE || group->dst_memory == XP_MEMORY_PAGEABLE);
}

static size_t sum(const struct xp_gpu_inventory *copies, struct direction *rows, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < copies->n_groups; i++) {
		const struct xp_gpu_group *group = &copies->groups[i];
		size_t at = 0;

		if (!is_pageable(group))
			continue;
		while (at < n && (rows[at].kind != group->memcpy_kind || rows[at].device.set != group->device_id.set ||
				  rows[at].device.v != group->device_id.v))
			at++;
		if (at == max)
			continue;
		if (at == n)
			rows[n++] = (struct direction){ .kind = group->memcpy_kind, .device = group->device_id };
		rows[at].count += group->count;
		rows[at].bytes += group->total_bytes.v;
		rows[at].ns += group->duration_ns.total;
	}
	return n;
}

static void tell(const struct xp_triage_input *input, const struct direction *row, struct xp_findings *out)
{
	const char *direction = xp_memcpy_kind_names[row->kind];
	double rate = row->ns ? (double)row->bytes * 1e9 / (double)row->ns : 0;
	json_t *evidence = json_object();

	json_object_set_new(evidence, "direction", json_string(direction));
	json_object_set_new(evidence, "count", xp_json_count(row->count));
	json_object_set_new(evidence, "bytes", xp_json_count(row->bytes));
	json_object_set_new(evidence, "bytes_per_second", row->ns ? json_real(rate) : json_null());
	json_object_set_new(evidence, "total_ns", xp_json_count(row->ns));
	json_object_set_new(evidence, "device", row->device.set ? xp_json_count(row->device.v) : json_null());
	struct xp_finding *finding = xp_finding_add(out, "gpu_pageable_copies", direction, xp_input_share(input, row->ns), evidence);

	xp_finding_say(out, finding, "%llu copies %s with pageable host memory took %.0f ms of %.0f ms, at %.2f GB/s",
		       (unsigned long long)row->count, direction, (double)row->ns / 1e6, (double)input->window_ns / 1e6, rate / 1e9);
	xp_next_action(
		out, finding, "pin_host_memory", NULL, NULL,
		"keep the host side of these copies in pinned memory (cudaHostAlloc, cudaHostRegister; in PyTorch pin_memory=True) and "
		"copy asynchronously");
}

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	struct direction rows[XP_COPY_KIND_COUNT * XP_GPU_DEVICES];
	size_t n = sum(&input->cuda_copies->inventory, rows, XP_LEN(rows));

	for (size_t i = 0; i < n; i++)
		if (xp_input_share(input, rows[i].ns) >= LEAST_SHARE || xp_input_per_second(input, rows[i].count) >= LEAST_PER_SECOND)
			tell(input, &rows[i], out);
}

bool xp_gpu_copies_pageable(const struct xp_triage_input *input)
{
	for (size_t i = 0; input->cuda_copies && i < input->cuda_copies->inventory.n_groups; i++)
		if (is_pageable(&input->cuda_copies->inventory.groups[i]))
			return true;
	return false;
}

static const struct xp_take takes[] = { { "gpu_copies", XP_TAKE_SAME_CALL },	{ "cpu_hotspot", XP_TAKE_IN_COPY },
					{ "gpu_idle", XP_TAKE_IN_COPY },	{ "gpu_wait", XP_TAKE_IN_COPY },
					{ "syscall_blocked", XP_TAKE_IN_COPY }, { NULL } };

const struct xp_rule xp_rule_gpu_pageable_copies = {
	.code = "gpu_pageable_copies",
	.order = 220,
	.needs = 1u << XP_SOURCE_CUDA_COPIES,
	.takes = takes,
	.run = run,
};
