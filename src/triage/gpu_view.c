// SPDX-License-Identifier: Apache-2.0
/* GPU activities for rules. In: the values of one window. Out: sums by device, shares, next steps. No state. */
#include "triage/gpu_view.h"

#include <stdlib.h>
#include <string.h>

#include "triage/cpu_view.h"

static bool same_device(struct xp_opt_u32 a, struct xp_opt_u32 b)
{
	return a.set == b.set && (!a.set || a.v == b.v);
}

static struct xp_gpu_load *device_at(struct xp_gpu_load *devices, size_t *n, struct xp_opt_u32 index)
{
	for (size_t i = 0; i < *n; i++)
		if (same_device(devices[i].index, index))
			return &devices[i];
	if (*n == XP_GPU_DEVICES)
		return NULL;
	devices[*n] = (struct xp_gpu_load){ .index = index };
	return &devices[(*n)++];
}

static int busiest_first(const void *a, const void *b)
{
	const struct xp_gpu_load *x = a, *y = b;

	if (x->kernel_ns != y->kernel_ns)
		return x->kernel_ns > y->kernel_ns ? -1 : 1;
	return x->index.v < y->index.v ? -1 : x->index.v > y->index.v;
}

static void add_groups(const struct xp_gpu_activity *activity, struct xp_gpu_load *devices, size_t *n)
{
	for (size_t i = 0; activity && i < activity->inventory.n_groups; i++) { /* by total falling: the first kernel group is the top */
		const struct xp_gpu_group *group = &activity->inventory.groups[i];
		struct xp_gpu_load *device = device_at(devices, n, group->device_id);

		if (!device)
			continue;
		if (group->activity == XP_GPU_KERNEL) {
			device->kernels += group->count;
			device->kernel_ns += group->duration_ns.total;
			device->top = device->top ? device->top : group;
		} else if (group->activity == XP_GPU_MEMCPY) {
			device->copy_ns += group->duration_ns.total;
		}
	}
}

size_t xp_gpu_loads(const struct xp_triage_input *input, struct xp_gpu_load devices[XP_GPU_DEVICES])
{
	size_t n = 0;

	add_groups(input->cuda_kernels, devices, &n);
	add_groups(input->cuda_copies, devices, &n);
	for (size_t i = 0; i < n; i++) {
		double busy = xp_input_share(input, devices[i].kernel_ns);

		devices[i].busy = busy > 1 ? 1 : busy;
	}
	if (n)
		qsort(devices, n, sizeof(*devices), busiest_first);
	return n;
}

const struct xp_gpu_load *xp_gpu_load_of(const struct xp_gpu_load *devices, size_t n, const struct xp_gpu_group *group)
{
	for (size_t i = 0; i < n; i++)
		if (same_device(devices[i].index, group->device_id))
			return &devices[i];
	return NULL;
}

const char *xp_gpu_device_name(struct xp_arena *arena, struct xp_opt_u32 index)
{
	return index.set ? xp_arena_fmt(arena, "%u", index.v) : "unknown";
}

const char *xp_gpu_kernel_name(struct xp_arena *arena, const struct xp_gpu_group *group)
{
	const char *name = group->function && *group->function ? group->function : group->name;

	return name && *name ? xp_utf8_cut(arena, name, 256, NULL) : "(unnamed kernel)";
}

double xp_gpu_call_share(const struct xp_triage_input *input, uint32_t tid, enum xp_cuda_call_kind kind)
{
	uint64_t samples = 0, ns = 0;

	for (size_t i = 0; input->cpu && i < input->cpu->n_by_thread; i++) {
		const struct xp_cpu_thread *thread = &input->cpu->by_thread[i];

		for (size_t c = 0; thread->tid == tid && c < thread->n_cuda; c++)
			samples += thread->cuda[c].call->kind == kind ? thread->cuda[c].amount : 0;
	}
	for (size_t i = 0; input->off_cpu && i < input->off_cpu->n_cuda; i++)
		if (input->off_cpu->cuda[i].tid == tid && input->off_cpu->cuda[i].call->kind == kind)
			ns += input->off_cpu->cuda[i].amount;
	return (samples ? xp_cpu_share(input, samples) : 0) + xp_input_share(input, ns);
}

double xp_gpu_most_under(const struct xp_triage_input *input, enum xp_cuda_call_kind kind, uint32_t *ret_tid)
{
	double most = 0;

	*ret_tid = 0;
	for (size_t i = 0; input->cpu && i < input->cpu->n_by_thread; i++) {
		uint32_t tid = input->cpu->by_thread[i].tid;
		double share = input->cpu->by_thread[i].n_cuda ? xp_gpu_call_share(input, tid, kind) : 0;

		if (share > most) {
			most = share;
			*ret_tid = tid;
		}
	}
	for (size_t i = 0; input->off_cpu && i < input->off_cpu->n_cuda; i++) {
		double share = xp_gpu_call_share(input, input->off_cpu->cuda[i].tid, kind);

		if (share > most) {
			most = share;
			*ret_tid = input->off_cpu->cuda[i].tid;
		}
	}
	return most;
}

void xp_next_gpu(const struct xp_triage_input *input, struct xp_findings *list, struct xp_finding *finding, const struct xp_next_gpu *next)
{
	xp_next_pair(list, finding, &input->target, next->name, next->per_second, next->policy, next->from, next->to);
	((struct xp_next_spec *)finding->next)->target_mutation = !input->agent_loaded;
}

void xp_next_gpu_group(const struct xp_triage_input *input, struct xp_findings *list, struct xp_finding *finding,
		       const struct xp_gpu_group *group, const char *name)
{
	struct xp_next_gpu next = {
		.name = name,
		.per_second = xp_input_per_second(input, group->count),
		.policy = XP_POLICY_EXACT,
		.from = group->start_selector_hint,
		.to = group->end_selector_hint,
	};

	xp_next_gpu(input, list, finding, &next);
}
