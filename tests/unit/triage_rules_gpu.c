// SPDX-License-Identifier: Apache-2.0
/* Recorded GPU activities -> findings: a table of windows, then what each finding says and takes. */
#include "triage_scene_gpu.h"

static void idle_of_work(struct gpu_scene *g)
{
	(void)g;
}

static void slow_kernel(struct gpu_scene *g)
{
	kernel(g, "attention", 0, 97, 970);
	spins(g, "cudaStreamSynchronize", 98);
}

static void two_slow_kernels(struct gpu_scene *g)
{
	kernel(g, "gemm", 0, 1009, 450);
	kernel(g, "attention", 0, 1009, 400);
	spins(g, "cudaDeviceSynchronize", 60);
}

static void many_kernels(struct gpu_scene *g)
{
	kernel(g, "a", 0, 101, 300);
	kernel(g, "b", 0, 101, 250);
	kernel(g, "c", 0, 101, 200);
	kernel(g, "d", 0, 101, 150);
}

static void tiny_kernels(struct gpu_scene *g)
{
	kernel(g, "add", 0, 50021, 150);
	spins(g, "cudaLaunchKernel", 40);
	hot(g, "cuLaunchKernel", 25, 0, 24);
	g->s->threads[0] = thread(MAIN, "main", 980, 0);
}

static void gaps(struct gpu_scene *g)
{
	kernel(g, "step", 0, 41, 205);
	spins(g, "cudaStreamSynchronize", 21);
}

static void pageable(struct gpu_scene *g)
{
	kernel(g, "step", 0, 41, 20);
	copy(g, XP_COPY_HTOD, XP_MEMORY_PAGEABLE, XP_MEMORY_DEVICE, 211, 600);
	spins(g, "cudaMemcpyAsync", 70);
	hot(g, "memcpy", 65, 64, 0);
}

static void pinned(struct gpu_scene *g)
{
	kernel(g, "step", 0, 41, 20);
	copy(g, XP_COPY_HTOD, XP_MEMORY_PINNED, XP_MEMORY_DEVICE, 211, 600);
}

static void few_small_copies(struct gpu_scene *g)
{
	kernel(g, "step", 0, 41, 700);
	copy(g, XP_COPY_DTOH, XP_MEMORY_DEVICE, XP_MEMORY_PAGEABLE, 99, 3);
}

static void many_small_copies(struct gpu_scene *g)
{
	kernel(g, "step", 0, 41, 700);
	copy(g, XP_COPY_DTOH, XP_MEMORY_DEVICE, XP_MEMORY_PAGEABLE, 100, 3);
}

static void two_devices(struct gpu_scene *g)
{
	kernel(g, "step", 0, 41, 900);
	kernel(g, "step", 1, 41, 90);
}

static void waits_asleep(struct gpu_scene *g)
{
	kernel(g, "step", 0, 7, 100);
	blocks(g, "cuEventSynchronize", 500);
	g->off_use = (struct xp_off_cpu_use){ .tid = MAIN, .syscall_name = "poll", .total_ns = 500 * MS, .gpu_ns = 500 * MS };
	g->off_cpu.n_uses = 1;
	g->s->uses[0] = (struct xp_call_use){ .tid = MAIN, .thread_name = "main", .name = "poll", .calls = 7, .total_ns = 500 * MS };
	g->s->view.n_uses = 1;
}

/* A worker below a condition variable, as PyTorch's backward thread between two steps. */
static void idle_worker(struct gpu_scene *g)
{
	static const struct xp_frame frame = { .symbol = "pthread_cond_wait", .kind = XP_FRAME_NATIVE };
	static const struct xp_frame *const frames[] = { &frame };
	static const struct xp_off_cpu_group group = { .frames = frames, .n_frames = 1 };

	two_slow_kernels(g);
	g->s->threads[1] = thread(73, "backward", 80, 0);
	g->s->time.n_threads = 2;
	g->off_use = (struct xp_off_cpu_use){ .tid = 73, .syscall_name = "futex", .total_ns = 920 * MS, .longest = &group };
	g->off_cpu.n_uses = 1;
	g->s->uses[0] = (struct xp_call_use){ .tid = 73, .thread_name = "backward", .name = "futex", .calls = 7, .total_ns = 920 * MS };
	g->s->view.n_uses = 1;
}

/* The same with a device that has nothing to do: then the wait may be a cause. */
static void idle_worker_and_device(struct gpu_scene *g)
{
	idle_worker(g);
	g->kernels[0].duration_ns.total = g->kernels[1].duration_ns.total = 50 * MS;
}

static void full_queue(struct gpu_scene *g)
{
	kernel(g, "step", 0, 997, 990);
	spins(g, "cudaLaunchKernel", 97);
	hot(g, "sched_yield", 90, 0, 90);
	g->s->threads[0] = thread(MAIN, "main", 990, 0);
}

/* Every thread sleeps; the device works for just enough, or just too little, of the window. */
static void sleeps_beside(struct gpu_scene *g, double kernel_ms)
{
	kernel(g, "step", 0, 7, kernel_ms);
	g->s->threads[0] = thread(MAIN, "main", 1, 0);
	g->s->time.active = 0;
}

static void asleep_and_device_works(struct gpu_scene *g)
{
	sleeps_beside(g, 10);
}

static void asleep_and_device_too(struct gpu_scene *g)
{
	sleeps_beside(g, 9.999);
}

static const struct {
	const char *name;
	void (*fill)(struct gpu_scene *g);
	const char *codes;
} windows[] = {
	{ "idle of work", idle_of_work, "" },
	{ "one slow kernel takes the wait for it", slow_kernel, "gpu_kernel" },
	{ "two kernels share the device", two_slow_kernels, "gpu_wait gpu_kernel gpu_kernel" },
	{ "at most three kernels", many_kernels, "gpu_kernel gpu_kernel gpu_kernel" },
	{ "launch-bound", tiny_kernels, "gpu_launch_bound gpu_kernel" },
	{ "gaps", gaps, "gpu_idle gpu_wait gpu_kernel" },
	{ "pageable copies take what follows from them", pageable, "gpu_pageable_copies" },
	{ "pinned copies take the idle time", pinned, "gpu_copies" },
	{ "few small pageable copies", few_small_copies, "gpu_kernel" },
	{ "many small pageable copies", many_small_copies, "gpu_kernel gpu_pageable_copies" },
	{ "devices one by one", two_devices, "gpu_idle gpu_kernel" },
	{ "asleep in a synchronizing call", waits_asleep, "gpu_idle gpu_wait gpu_kernel" },
	{ "a full launch queue is a wait", full_queue, "gpu_kernel" },
	{ "an idle worker waits for the device, too", idle_worker, "gpu_wait gpu_kernel gpu_kernel" },
	{ "an idle worker beside an idle device", idle_worker_and_device, "syscall_blocked gpu_idle gpu_wait" },
	{ "a process whose device works is not blocked", asleep_and_device_works, "gpu_idle" },
	{ "a process that does next to nothing is", asleep_and_device_too, "fully_blocked gpu_idle" },
};

static void table(void **state)
{
	(void)state;
	for (size_t i = 0; i < XP_LEN(windows); i++) {
		void *scene;

		set_up_gpu(&scene);
		windows[i].fill(scene);
		print_message("%s\n", windows[i].name);
		assert_string_equal(codes(((struct gpu_scene *)scene)->s), windows[i].codes);
		tear_down_gpu(&scene);
	}
}

static const struct xp_measurement_spec *spec_of(const struct scene *s, size_t i)
{
	const struct xp_next_spec *next = s->found.at[i]->next;

	assert_int_equal(next->kind, XP_NEXT_SPEC);
	return next->spec;
}

static void kernel_spec(void **state)
{
	struct gpu_scene *g = *state;

	kernel(g, "void gemm<float>(float*)", 3, 997, 500)->function = "gemm";
	assert_string_equal(codes(g->s), "gpu_kernel");
	const struct xp_measurement_spec *spec = spec_of(g->s, 0);

	assert_string_equal(g->s->found.at[0]->subject, "gemm");
	assert_string_equal(spec->name, "triage_gemm");
	assert_string_equal(spec->start_selector, "cuda:kernel_start:name~^void gemm\\<float\\>\\(float\\*\\)$");
	assert_int_equal(spec->match_policy, XP_POLICY_EXACT);
	assert_int_equal(spec->samples.v, 100);
	assert_false(((struct xp_next_spec *)g->s->found.at[0]->next)->target_mutation);
	g->s->input.agent_loaded = false;
	codes(g->s);
	assert_true(((struct xp_next_spec *)g->s->found.at[0]->next)->target_mutation);
}

static void launch_bound_spec(void **state)
{
	struct gpu_scene *g = *state;

	tiny_kernels(g);
	codes(g->s);
	const struct xp_measurement_spec *spec = spec_of(g->s, 0);

	assert_true(share(g->s, 0) == 0.85);
	assert_string_equal(g->s->found.at[0]->subject, "0");
	assert_string_equal(spec->start_selector, "cuda:driver_api:@launch:entry");
	assert_string_equal(spec->end_selector, "cuda:kernel_start");
	assert_int_equal(spec->max_events.v, 26000); /* 300 + 50,021 / 2, in thousands */
	const json_t *taken = json_object_get(g->s->found.at[0]->evidence, "absorbed");

	assert_int_equal(json_array_size(taken), 2);
	assert_string_equal(absorbed(g->s, 0), "cpu_hotspot"); /* and what that had taken */
	assert_string_equal(json_string_value(json_object_get(json_array_get(taken, 1), "code")), "cpu_bound_thread");
}

static void idle_spec(void **state)
{
	struct gpu_scene *g = *state;

	kernel(g, "step", 0, 41, 205);
	assert_string_equal(codes(g->s), "gpu_idle gpu_kernel");
	assert_string_equal(spec_of(g->s, 0)->start_selector, "cuda:kernel_end");
	assert_int_equal(spec_of(g->s, 0)->match_policy, XP_POLICY_STREAM_ORDER);
	assert_int_equal(g->s->found.at[0]->confidence, XP_ESTIMATED);
}

/* Work of the host that the device waits for: of the thread that launches, not of the one that runs most. */
static void idle_names_the_host(void **state)
{
	static const struct xp_frame
		augment = { .symbol = "augment", .source_path = "/srv/train.py", .line = XP_SOME(33), .kind = XP_FRAME_PYTHON },
		load = { .symbol = "next_batch", .source_path = "/srv/load.py", .line = XP_SOME(12), .kind = XP_FRAME_PYTHON },
		launch = { .symbol = "cuLaunchKernel", .kind = XP_FRAME_NATIVE, .module_path = "/usr/lib/libcuda.so.1" };
	static const struct xp_frame *const runs[] = { &augment }, *const launches[] = { &launch, &load }, *const waits[] = { &load };
	struct xp_stack_group groups[] = {
		{ .thread_name_pattern = "loop", .frames = launches, .n_frames = 2, .samples = 50 }, /* of the device, not of the host */
		{ .thread_name_pattern = "loop", .frames = runs, .n_frames = 1, .samples = 30 },
		{ .thread_name_pattern = "other", .frames = waits, .n_frames = 1, .samples = 90 },
	};
	const struct xp_off_cpu_group block = { .frames = waits, .n_frames = 1, .syscall_name = "read", .total_ns = 310 * MS };
	struct gpu_scene *g = *state;

	kernel(g, "step", 0, 41, 205);
	g->s->threads[1] = thread(73, "loop", 400, 0);
	g->s->time.n_threads = 2;
	g->threads[0].samples = 90;
	g->threads[1] =
		(struct xp_cpu_thread){ .tid = 73, .name = "loop", .name_pattern = "loop", .samples = 80, .cuda = g->uses, .n_cuda = 1 };
	g->cpu.n_by_thread = 2;
	g->uses[0] = (struct xp_cuda_use){ .tid = 73, .call = xp_cuda_call_of("cuLaunchKernel"), .amount = 50 };
	g->cpu.inventory.stack_groups = groups;
	g->cpu.inventory.n_stack_groups = 3;
	codes(g->s);
	const struct xp_finding *finding = g->s->found.at[0];
	assert_string_equal(finding->code, "gpu_idle");
	assert_non_null(strstr(finding->message,
			       "; beside CUDA calls thread loop ran for about 300 ms of 1000 ms, mostly in augment (train.py:33)"));
	json_t *work = json_object_get(finding->evidence, "host_work");
	assert_int_equal(json_integer_value(json_object_get(work, "tid")), 73);
	assert_true(json_is_true(json_object_get(work, "launches")));
	assert_true(json_is_null(json_object_get(work, "syscall_name")));
	/* Blocked for longer than it ran; what waits for the device doesn't count. */
	g->off_use =
		(struct xp_off_cpu_use){ .tid = 73, .syscall_name = "read", .total_ns = 900 * MS, .gpu_ns = 590 * MS, .longest = &block };
	g->off_cpu.n_uses = 1;
	codes(g->s);
	finding = g->s->found.at[0];
	assert_non_null(strstr(finding->message, "; beside CUDA calls thread loop was blocked for about 310 ms of 1000 ms, mostly in read, "
						 "called from next_batch (load.py:12)"));
	assert_int_equal(json_integer_value(json_object_get(json_object_get(finding->evidence, "called_from"), "line")), 12);
	/* No thread was met under a CUDA call: of the main thread, which is said to be no more than that. */
	g->threads[1].n_cuda = 0;
	g->threads[0].samples = 60;
	codes(g->s);
	for (size_t i = 0; i < g->s->found.n; i++)
		if (!strcmp(g->s->found.at[i]->code, "gpu_idle"))
			finding = g->s->found.at[i];
	assert_non_null(strstr(finding->message, "; beside CUDA calls thread main ran for about 600 ms"));
	assert_true(json_is_false(json_object_get(json_object_get(finding->evidence, "host_work"), "launches")));
	/* Neither of the sources is there: only the device is told of. */
	g->s->input.cpu = NULL;
	g->s->input.off_cpu = NULL;
	g->s->input.sources[XP_SOURCE_CPU_SAMPLES] = xp_source_unavailable(XP_SOURCE_CPU_SAMPLES, XP_REASON_ABSENT, NULL);
	g->s->input.sources[XP_SOURCE_OFF_CPU] = xp_source_unavailable(XP_SOURCE_OFF_CPU, XP_REASON_ABSENT, NULL);
	codes(g->s);
	assert_null(json_object_get(g->s->found.at[0]->evidence, "host_work"));
}

/* A busy device: its kernel. An idle one, or one that nothing is known of: the call. */
static void wait_spec(void **state)
{
	struct gpu_scene *g = *state;

	kernel(g, "gemm", 0, 1009, 450);
	kernel(g, "attention", 0, 1009, 400);
	spins(g, "cuStreamSynchronize", 90);
	assert_string_equal(codes(g->s), "gpu_wait gpu_kernel gpu_kernel");
	assert_string_equal(spec_of(g->s, 0)->end_selector, "cuda:kernel_end:name~^gemm$");
	assert_string_equal(absorbed(g->s, 0), "cpu_hotspot");
	g->s->input.cuda_kernels = NULL;
	g->s->input.sources[XP_SOURCE_CUDA_KERNELS] = xp_source_unavailable(XP_SOURCE_CUDA_KERNELS, XP_REASON_ABSENT, NULL);
	assert_string_equal(codes(g->s), "gpu_wait");
	assert_string_equal(spec_of(g->s, 0)->start_selector, "cuda:driver_api:cuStreamSynchronize:entry");
	assert_string_equal(spec_of(g->s, 0)->end_selector, "cuda:driver_api:cuStreamSynchronize:exit");
}

static void pageable_names_the_rate(void **state)
{
	struct gpu_scene *g = *state;

	copy(g, XP_COPY_HTOD, XP_MEMORY_PAGEABLE, XP_MEMORY_DEVICE, 500, 500);
	copy(g, XP_COPY_HTOD, XP_MEMORY_PINNED, XP_MEMORY_DEVICE, 500, 200);
	assert_string_equal(codes(g->s), "gpu_pageable_copies gpu_copies"); /* pinned ones are a cause of their own */
	const struct xp_finding *finding = g->s->found.at[0];

	assert_string_equal(finding->subject, "HtoD");
	assert_string_equal(absorbed(g->s, 0), "gpu_copies");
	assert_int_equal(json_integer_value(json_object_get(finding->evidence, "bytes")), 500 << 20);
	assert_true(json_real_value(json_object_get(finding->evidence, "bytes_per_second")) == (double)(1000 << 20));
	assert_string_equal(((const struct xp_next_action *)finding->next)->code, "pin_host_memory");
}

static void names_of_calls(void **state)
{
	(void)state;
	assert_string_equal(xp_cuda_call_of("cuMemcpyHtoDAsync_v2_ptsz")->name, "cuMemcpyHtoDAsync");
	assert_int_equal(xp_cuda_call_of("cudaMemcpyAsync")->kind, XP_CUDA_COPY);
	assert_int_equal(xp_cuda_call_of("cudaMemcpy")->kind, XP_CUDA_WAIT);
	assert_int_equal(xp_cuda_call_of("__cudaLaunchKernel")->kind, XP_CUDA_LAUNCH);
	assert_null(xp_cuda_call_of("cudaMalloc"));
	assert_null(xp_cuda_call_of("current"));
	assert_null(xp_cuda_call_of(NULL));
}

#define GPU_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up_gpu, tear_down_gpu)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),       GPU_TEST(kernel_spec), GPU_TEST(launch_bound_spec),	GPU_TEST(idle_spec),
		GPU_TEST(idle_names_the_host), GPU_TEST(wait_spec),   cmocka_unit_test(names_of_calls), GPU_TEST(pageable_names_the_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
