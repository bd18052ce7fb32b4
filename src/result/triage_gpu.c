// SPDX-License-Identifier: Apache-2.0
/* GPU activities of a triage in a few numbers. In: the values of one window. Out: parts of the summary. No state. */
#include "result/triage_gpu.h"

#include <string.h>

#include "triage/gpu_view.h"

enum { MAX_TOP = 8, NAME_BYTES = 256 };

static const struct xp_field top_kernel_fields[] = {
	XP_FIELD(xp_triage_top_kernel, name, STR, "as CUPTI gives it"),
	XP_FIELD(xp_triage_top_kernel, function, STR, "function without template arguments, where it differs", .flags = XP_OPTIONAL),
	XP_FIELD(xp_triage_top_kernel, count, U64, "kernels"),
	XP_FIELD(xp_triage_top_kernel, total_ns, U64, "their time on the device"),
	XP_FIELD(xp_triage_top_kernel, mean_ns, F64, "total / count"),
	XP_FIELD(xp_triage_top_kernel, device_id, OPT_U32, "null: not known"),
};
static const struct xp_record top_kernel_record =
	XP_RECORD("TriageKernel", xp_triage_top_kernel, top_kernel_fields, "kernels of one name and device");

static const struct xp_field kernels_fields[] = {
	XP_FIELD(xp_triage_cuda_kernels, kernels, U64, "kernels that began in the window"),
	XP_FIELD(xp_triage_cuda_kernels, busy_share, OPT_F64, "kernel time / window of the busiest device, at most 1; null: no kernel"),
	XP_FIELD(xp_triage_cuda_kernels, groups, U64, "different names and devices"),
	XP_FIELD(xp_triage_cuda_kernels, launches, U64, "launch calls, graphs apart"),
	XP_FIELD(xp_triage_cuda_kernels, graph_launches, U64, "graph launches"),
	XP_FIELD_LIST(xp_triage_cuda_kernels, top, &top_kernel_record, "at most 8, by total time"),
};
const struct xp_record xp_triage_cuda_kernels_record =
	XP_RECORD("TriageCudaKernels", xp_triage_cuda_kernels, kernels_fields, "kernels in numbers");

static const struct xp_field copies_fields[] = {
	XP_FIELD_ENUM(xp_triage_copies, activity, xp_gpu_kind_names, "memcpy or memset"),
	XP_FIELD_ENUM(xp_triage_copies, memcpy_kind, xp_memcpy_kind_names, "direction; null: not a copy", .flags = XP_NULLABLE),
	XP_FIELD_ENUM(xp_triage_copies, src_memory, xp_memory_kind_names, "where it read; null: not a copy", .flags = XP_NULLABLE),
	XP_FIELD_ENUM(xp_triage_copies, dst_memory, xp_memory_kind_names, "where it wrote; null: not a copy", .flags = XP_NULLABLE),
	XP_FIELD(xp_triage_copies, device_id, OPT_U32, "null: not known"),
	XP_FIELD(xp_triage_copies, count, U64, "copies or sets"),
	XP_FIELD(xp_triage_copies, total_ns, U64, "their time on the device"),
	XP_FIELD(xp_triage_copies, total_bytes, OPT_U64, "bytes moved or set"),
};
static const struct xp_record copies_record =
	XP_RECORD("TriageCopies", xp_triage_copies, copies_fields, "copies of one direction and memory kind, or sets");

static const struct xp_field cuda_copies_fields[] = {
	XP_FIELD(xp_triage_cuda_copies, copies, U64, "copies that began in the window"),
	XP_FIELD(xp_triage_cuda_copies, bytes, U64, "bytes that they moved"),
	XP_FIELD(xp_triage_cuda_copies, total_ns, U64, "their time on the device"),
	XP_FIELD(xp_triage_cuda_copies, sets, U64, "memory sets"),
	XP_FIELD_LIST(xp_triage_cuda_copies, groups, &copies_record, "at most 8, by total time"),
};
const struct xp_record xp_triage_cuda_copies_record =
	XP_RECORD("TriageCudaCopies", xp_triage_cuda_copies, cuda_copies_fields, "copies in numbers");

static const char *function_of(const struct xp_gpu_group *group, struct xp_arena *arena)
{
	if (!group->function || !*group->function || !strcmp(group->function, group->name))
		return NULL;
	return xp_utf8_cut(arena, group->function, NAME_BYTES, NULL);
}

static void sum_devices(const struct xp_triage_input *input, struct xp_triage_cuda_kernels *to, struct xp_arena *arena)
{
	struct xp_triage_load *rows = xp_arena_array(arena, struct xp_triage_load, XP_GPU_DEVICES);
	struct xp_gpu_load loads[XP_GPU_DEVICES];

	to->n_devices = xp_gpu_loads(input, loads);
	to->devices = rows;
	for (size_t i = 0; i < to->n_devices; i++) {
		double copying = xp_input_share(input, loads[i].copy_ns);

		rows[i] = (struct xp_triage_load){
			.name = xp_gpu_device_name(arena, loads[i].index),
			.kernels = loads[i].kernels,
			.busy = loads[i].busy,
			.copying = copying > 1 ? 1 : copying,
		};
		if (loads[i].kernels && (!to->busy_share.set || loads[i].busy > to->busy_share.v))
			to->busy_share = (struct xp_opt_f64)XP_SOME(loads[i].busy);
	}
}

struct xp_triage_cuda_kernels *xp_triage_sum_kernels(const struct xp_triage_input *input, struct xp_arena *arena)
{
	const struct xp_gpu_activity *from = input->cuda_kernels;
	struct xp_triage_cuda_kernels *to;
	struct xp_triage_top_kernel *top;

	if (!from || !xp_input_has(input, XP_SOURCE_CUDA_KERNELS))
		return NULL;
	to = xp_arena_new_of(arena, struct xp_triage_cuda_kernels);
	top = xp_arena_array(arena, struct xp_triage_top_kernel, MAX_TOP);
	*to = (struct xp_triage_cuda_kernels){
		.kernels = from->collection.grouped_activities,
		.groups = from->collection.groups,
		.launches = from->collection.cuda->api_launches_seen,
		.graph_launches = from->collection.cuda->graph_launches_seen,
		.top = top,
	};
	for (; to->n_top < MAX_TOP && to->n_top < from->inventory.n_groups; to->n_top++) {
		const struct xp_gpu_group *group = &from->inventory.groups[to->n_top];

		top[to->n_top] = (struct xp_triage_top_kernel){
			.name = xp_utf8_cut(arena, group->name, NAME_BYTES, NULL),
			.function = function_of(group, arena),
			.count = group->count,
			.total_ns = group->duration_ns.total,
			.mean_ns = group->duration_ns.mean,
			.device_id = group->device_id,
		};
	}
	sum_devices(input, to, arena);
	return to;
}

struct xp_triage_cuda_copies *xp_triage_sum_copies(const struct xp_triage_input *input, struct xp_arena *arena)
{
	const struct xp_gpu_activity *from = input->cuda_copies;
	struct xp_triage_cuda_copies *to;
	struct xp_triage_copies *rows;

	if (!from || !xp_input_has(input, XP_SOURCE_CUDA_COPIES))
		return NULL;
	to = xp_arena_new_of(arena, struct xp_triage_cuda_copies);
	rows = xp_arena_array(arena, struct xp_triage_copies, MAX_TOP);
	to->groups = rows;
	for (size_t i = 0; i < from->inventory.n_groups; i++) {
		const struct xp_gpu_group *group = &from->inventory.groups[i];

		if (group->activity == XP_GPU_MEMCPY) {
			to->copies += group->count;
			to->bytes += group->total_bytes.v;
			to->total_ns += group->duration_ns.total;
		} else {
			to->sets += group->count;
		}
		if (to->n_groups == MAX_TOP)
			continue;
		rows[to->n_groups++] = (struct xp_triage_copies){
			.activity = group->activity,
			.memcpy_kind = group->memcpy_kind,
			.src_memory = group->src_memory,
			.dst_memory = group->dst_memory,
			.device_id = group->device_id,
			.count = group->count,
			.total_ns = group->duration_ns.total,
			.total_bytes = group->total_bytes,
		};
	}
	return to;
}
