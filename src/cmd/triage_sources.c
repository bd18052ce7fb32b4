// SPDX-License-Identifier: Apache-2.0
/* The table of sources, and what a target's mappings say about it. No state. */
#include "cmd/triage_sources.h"

#include <inttypes.h>
#include <string.h>

#include "inventory/cpu_samples.h"
#include "inventory/gpu_activity.h"
#include "inventory/gpu_health.h"
#include "inventory/off_cpu.h"
#include "inventory/syscalls.h"

static bool take_threads(void *value, struct xp_triage_input *input, struct xp_triage_source *source, struct xp_arena *arena)
{
	const struct xp_thread_time *threads = value;

	if (threads->missed_threads)
		return false;
	input->threads = threads;
	return true;
}

static bool take_cgroup(void *value, struct xp_triage_input *input, struct xp_triage_source *source, struct xp_arena *arena)
{
	input->cgroup = value;
	source->detail = input->cgroup->moved ? "the target moved to another group in the window" : input->cgroup->note;
	return true;
}

static bool take_cpu_samples(void *value, struct xp_triage_input *input, struct xp_triage_source *source, struct xp_arena *arena)
{
	const struct xp_cpu_samples *samples = value;

	source->issues = samples->quality.issues;
	source->n_issues = samples->quality.n_issues;
	if (samples->sample_capacity_reached || samples->group_capacity_reached)
		return false;
	input->cpu = samples;
	return true;
}

static void head_cpu_samples(void *value, const struct xp_document *head)
{
	struct xp_cpu_samples *samples = value;

	samples->head = *head;
}

static bool take_syscalls(void *value, struct xp_triage_input *input, struct xp_triage_source *source, struct xp_arena *arena)
{
	const struct xp_syscalls *syscalls = value;

	source->issues = syscalls->quality.issues;
	source->n_issues = syscalls->quality.n_issues;
	if (syscalls->collection.dropped_aggregates)
		return false;
	input->syscalls = xp_syscall_view_of(syscalls, arena);
	return true;
}

static bool take_off_cpu(void *value, struct xp_triage_input *input, struct xp_triage_source *source, struct xp_arena *arena)
{
	const struct xp_off_cpu_value *off_cpu = value;

	if (off_cpu->threads_lost)
		return false;
	if (off_cpu->stacks_lost)
		source->detail = xp_arena_fmt(arena, "%" PRIu64 " of %" PRIu64 " blocks have no stack where they should have one",
					      off_cpu->stacks_lost, off_cpu->blocks_total);
	input->off_cpu = off_cpu;
	return true;
}

static void head_syscalls(void *value, const struct xp_document *head)
{
	struct xp_syscalls *syscalls = value;

	syscalls->head = *head;
}

static bool take_gpu(void *value, struct xp_triage_input *input, struct xp_triage_source *source, struct xp_arena *arena)
{
	const struct xp_gpu_health *gpu = value;

	for (size_t i = 0; i < gpu->n_devices && !source->detail; i++)
		if (gpu->devices[i].note)
			source->detail = xp_arena_fmt(arena, "GPU %u: %s", gpu->devices[i].index, gpu->devices[i].note);
	if (gpu->readings_missed && !source->detail)
		source->detail = xp_arena_fmt(arena, "the driver was too slow for %u of the readings", gpu->readings_missed);
	if (!gpu->use_known && !source->detail)
		source->detail = "which GPUs the target uses is not known: all are listed";
	input->gpu = gpu;
	return true;
}

static bool take_cuda(const struct xp_gpu_activity *activity, const struct xp_gpu_activity **ret_input, struct xp_triage_source *source)
{
	source->issues = activity->quality.issues;
	source->n_issues = activity->quality.n_issues;
	if (activity->incomplete)
		return false;
	*ret_input = activity;
	return true;
}

static bool take_cuda_kernels(void *value, struct xp_triage_input *input, struct xp_triage_source *source, struct xp_arena *arena)
{
	(void)arena;
	return take_cuda(value, &input->cuda_kernels, source);
}

static bool take_cuda_copies(void *value, struct xp_triage_input *input, struct xp_triage_source *source, struct xp_arena *arena)
{
	(void)arena;
	return take_cuda(value, &input->cuda_copies, source);
}

static void head_cuda(void *value, const struct xp_document *head)
{
	struct xp_gpu_activity *activity = value;

	activity->head = *head;
}

const struct xp_triage_feed xp_triage_feeds[XP_SOURCE_COUNT] = {
	[XP_SOURCE_THREADS] = {
		.inventory = "threads", .artifact = "threads.json", .feature = XP_FEATURE_RUNQUEUE_TIME, .take = take_threads,
	},
	[XP_SOURCE_CGROUP] = {
		.inventory = "cgroup", .artifact = "cgroup.json", .feature = XP_FEATURE_CGROUP_THROTTLING, .take = take_cgroup,
	},
	[XP_SOURCE_CPU_SAMPLES] = {
		.inventory = "cpu_samples", .artifact = "cpu-samples.json", .feature = XP_FEATURE_CPU_SAMPLE, .take = take_cpu_samples,
		.head = head_cpu_samples,
	},
	[XP_SOURCE_OFF_CPU] = {
		.inventory = "off_cpu", .artifact = "off-cpu.json", .feature = XP_FEATURE_OFF_CPU, .take = take_off_cpu,
	},
	[XP_SOURCE_SYSCALLS] = {
		.inventory = "syscalls", .artifact = "syscalls.json", .feature = XP_FEATURE_SYSCALL_TRACE, .take = take_syscalls,
		.head = head_syscalls,
	},
	[XP_SOURCE_GPU] = {
		.inventory = "gpu_health", .artifact = "gpu.json", .feature = XP_FEATURE_NVML, .take = take_gpu,
	},
	[XP_SOURCE_CUDA_KERNELS] = {
		.inventory = "cuda_kernels", .artifact = "cuda-kernels.json", .feature = XP_FEATURE_CUPTI_AGENT, .take = take_cuda_kernels,
		.head = head_cuda, .cuda = true,
	},
	[XP_SOURCE_CUDA_COPIES] = {
		.inventory = "cuda_copies", .artifact = "cuda-copies.json", .feature = XP_FEATURE_CUPTI_AGENT, .take = take_cuda_copies,
		.head = head_cuda, .cuda = true,
	},
};

const struct xp_inventory_kind *xp_triage_inventory(enum xp_source_id id)
{
	size_t n;
	const struct xp_inventory_kind *const *all = xp_inventories(&n);

	for (size_t i = 0; i < n && xp_triage_feeds[id].inventory; i++)
		if (!strcmp(all[i]->name, xp_triage_feeds[id].inventory))
			return all[i];
	return NULL;
}

/* A mapped file whose name begins with `prefix`. */
static bool maps_file(const struct xp_target *target, const char *prefix)
{
	const struct xp_maps *maps = xp_target_maps(target);

	for (size_t i = 0; i < maps->n; i++) {
		const char *slash = strrchr(maps->at[i].path, '/');

		if (slash && !strncmp(slash + 1, prefix, strlen(prefix)))
			return true;
	}
	return false;
}

bool xp_triage_maps_cuda(const struct xp_target *target)
{
	return maps_file(target, "libcuda.so");
}

bool xp_triage_maps_python(const struct xp_target *target)
{
	return maps_file(target, "libpython3") || maps_file(target, "python3");
}

struct xp_triage_source xp_triage_source_absent(enum xp_source_id id, const struct xp_target *target)
{
	if (xp_triage_feeds[id].cuda && !xp_triage_maps_cuda(target))
		return xp_source_unavailable(id, XP_REASON_NOT_CUDA, "the target maps no libcuda");
	return xp_source_unavailable(id, XP_REASON_ABSENT, xp_triage_feeds[id].absent);
}
