/* SPDX-License-Identifier: Apache-2.0 */
/* The scene of triage_scene.h with a GPU: kernels, copies and time under CUDA calls, set in few words. 100 samples a second. */
#ifndef XP_TEST_TRIAGE_SCENE_GPU_H
#define XP_TEST_TRIAGE_SCENE_GPU_H

#include "triage_scene.h"

#include "triage/gpu_view.h"

enum { GPU_GROUPS = 8 };

struct gpu_scene {
	struct scene *s;
	struct xp_gpu_group kernels[GPU_GROUPS], copies[GPU_GROUPS];
	struct xp_cuda_account account;
	struct xp_gpu_activity kernel_value, copy_value;
	struct xp_cpu_samples cpu;
	struct xp_cpu_thread threads[2];
	struct xp_cuda_use uses[4], blocked[4];
	struct xp_hotspot spot;
	struct xp_hot_thread hot;
	struct xp_frame frame;
	struct xp_off_cpu_value off_cpu;
	struct xp_off_cpu_use off_use;
};

static inline int set_up_gpu(void **state)
{
	struct gpu_scene *g = calloc(1, sizeof(*g));
	void *scene;

	set_up(&scene);
	g->s = scene;
	g->kernel_value.inventory.groups = g->kernels;
	g->kernel_value.collection.cuda = &g->account;
	g->copy_value.inventory.groups = g->copies;
	g->copy_value.collection.cuda = &g->account;
	g->cpu.inventory.frequency_hz = 100;
	g->cpu.by_thread = g->threads;
	g->threads[0] = (struct xp_cpu_thread){ .tid = MAIN, .name = "main", .name_pattern = "main", .cuda = g->uses };
	g->cpu.n_by_thread = 1;
	g->off_cpu.cuda = g->blocked;
	g->off_cpu.uses = &g->off_use;
	g->s->input.cuda_kernels = &g->kernel_value;
	g->s->input.cuda_copies = &g->copy_value;
	g->s->input.cpu = &g->cpu;
	g->s->input.off_cpu = &g->off_cpu;
	g->s->input.agent_loaded = true;
	for (int id = XP_SOURCE_THREADS; id < XP_SOURCE_COUNT; id++)
		if (id != XP_SOURCE_GPU)
			g->s->input.sources[id] = xp_source_available(id);
	*state = g;
	return 0;
}

static inline int tear_down_gpu(void **state)
{
	struct gpu_scene *g = *state;
	void *scene = g->s;

	free(g);
	return tear_down(&scene);
}

static inline struct xp_gpu_group *kernel(struct gpu_scene *g, const char *name, uint32_t device, uint64_t count, double total_ms)
{
	struct xp_gpu_group *group = &g->kernels[g->kernel_value.inventory.n_groups++];
	uint64_t total_ns = (uint64_t)(total_ms * (double)MS);

	*group = (struct xp_gpu_group){
		.activity = XP_GPU_KERNEL,
		.name = name,
		.function = name,
		.device_id = XP_SOME(device),
		.memcpy_kind = -1,
		.src_memory = -1,
		.dst_memory = -1,
		.start_selector_hint = xp_gpu_kernel_selector(g->s->arena, "cuda:kernel_start", name, true),
		.end_selector_hint = xp_gpu_kernel_selector(g->s->arena, "cuda:kernel_end", name, true),
		.count = count,
		.duration_ns = { .mean = (double)total_ns / (double)count, .total = total_ns },
	};
	g->account.api_launches_seen += count;
	return group;
}

static inline void copy(struct gpu_scene *g, int kind, int src, int dst, uint64_t count, double total_ms)
{
	g->copies[g->copy_value.inventory.n_groups++] = (struct xp_gpu_group){
		.activity = XP_GPU_MEMCPY,
		.device_id = XP_SOME(0),
		.memcpy_kind = kind,
		.src_memory = src,
		.dst_memory = dst,
		.start_selector_hint = xp_arena_fmt(g->s->arena, "cuda:memcpy_start:kind=%s", xp_memcpy_kind_names[kind]),
		.end_selector_hint = xp_arena_fmt(g->s->arena, "cuda:memcpy_end:kind=%s", xp_memcpy_kind_names[kind]),
		.count = count,
		.duration_ns = { .total = (uint64_t)(total_ms * (double)MS) },
		.total_bytes = XP_SOME(count << 20),
	};
}

/* Samples of the main thread under a call. */
static inline void spins(struct gpu_scene *g, const char *call, uint64_t samples)
{
	const struct xp_cuda_call *of = xp_cuda_call_of(call);

	assert_non_null(of);
	g->uses[g->threads[0].n_cuda++] =
		(struct xp_cuda_use){ .tid = MAIN, .thread_name = "main", .call = of, .amount = samples, .of_stack = samples };
}

static inline void blocks(struct gpu_scene *g, const char *call, uint64_t ms)
{
	const struct xp_cuda_call *of = xp_cuda_call_of(call);

	assert_non_null(of);
	g->blocked[g->off_cpu.n_cuda++] =
		(struct xp_cuda_use){ .tid = MAIN, .thread_name = "main", .call = of, .amount = ms * MS, .of_stack = ms * MS };
}

/* A hot native function of the main thread, of whose samples some lie under calls that copy or launch. */
static inline void hot(struct gpu_scene *g, const char *symbol, uint64_t exclusive, uint64_t in_copy, uint64_t in_launch)
{
	g->frame = (struct xp_frame){ .symbol = symbol, .kind = XP_FRAME_NATIVE, .module_path = "/usr/lib/libcuda.so.1" };
	g->hot = (struct xp_hot_thread){ MAIN, "main", exclusive, exclusive, in_copy, in_launch };
	g->spot = (struct xp_hotspot){ .frame = &g->frame,
				       .inclusive_samples = exclusive,
				       .exclusive_samples = exclusive,
				       .by_exclusive = g->hot,
				       .by_inclusive = g->hot,
				       .hot = &g->hot,
				       .n_hot = 1 };
	g->cpu.inventory.hotspots = &g->spot;
	g->cpu.inventory.n_hotspots = 1;
}

#endif
