// SPDX-License-Identifier: Apache-2.0
/* Recorded CPU samples -> findings: hot functions, hot paths, kernel time, collections; what they take from others. */
#include "triage_scene.h"

/* 100 samples a second: one sample is 1 % of the scene's window. */
struct cpu_scene {
	struct scene *s;
	struct xp_cpu_samples value;
	struct xp_frame frames[8];
	struct xp_hotspot spots[8];
	struct xp_hot_thread hot[8];
	struct xp_cpu_thread threads[4];
	struct xp_cpu_call calls[2];
	const struct xp_frame *stack[8];
	struct xp_stack_group group;
};

static int set_up_cpu(void **state)
{
	struct cpu_scene *c = calloc(1, sizeof(*c));
	void *scene;

	set_up(&scene);
	c->s = scene;
	c->value.inventory.frequency_hz = 100;
	c->value.inventory.hotspots = c->spots;
	c->value.inventory.stack_groups = &c->group;
	c->value.by_thread = c->threads;
	c->s->input.cpu = &c->value;
	c->s->input.can_sample = true;
	c->s->input.sources[XP_SOURCE_CPU_SAMPLES] = xp_source_available(XP_SOURCE_CPU_SAMPLES);
	*state = c;
	return 0;
}

static int tear_down_cpu(void **state)
{
	struct cpu_scene *c = *state;
	void *scene = c->s;

	free(c);
	return tear_down(&scene);
}

/* A function with its samples in the main thread. */
static struct xp_hotspot *spot(struct cpu_scene *c, const char *symbol, enum xp_frame_kind kind, uint64_t exclusive, uint64_t inclusive)
{
	size_t at = c->value.inventory.n_hotspots++;

	c->frames[at] = (struct xp_frame){ .symbol = symbol, .kind = kind, .module_path = kind == XP_FRAME_NATIVE ? "/srv/app" : NULL };
	c->hot[at] = (struct xp_hot_thread){ MAIN, "main", inclusive, exclusive };
	c->spots[at] = (struct xp_hotspot){ .frame = &c->frames[at],
					    .inclusive_samples = inclusive,
					    .exclusive_samples = exclusive,
					    .by_exclusive = c->hot[at],
					    .by_inclusive = c->hot[at],
					    .hot = &c->hot[at],
					    .n_hot = 1,
					    .depth = inclusive * (at + 1) };
	return &c->spots[at];
}

/* What a thread starts with never returns to be timed: the next step looks closer instead. */
static void first_function_of_a_thread(void **state)
{
	struct cpu_scene *c = *state;
	struct xp_hotspot *hot = spot(c, "serve", XP_FRAME_NATIVE, 50, 50);
	struct xp_frame caller = { .symbol = "start_thread", .kind = XP_FRAME_NATIVE };

	hot->entry_selector_hint = "uprobe:/srv/app:+0x1150:entry";
	hot->return_selector_hint = "uprobe:/srv/app:+0x1150:return";
	c->stack[0] = hot->frame;
	c->stack[1] = &caller;
	c->group = (struct xp_stack_group){ .frames = c->stack, .n_frames = 2 };
	c->value.inventory.n_stack_groups = 1;
	codes(c->s);
	assert_int_equal(((const struct xp_next_spec *)c->s->found.at[0]->next)->kind, XP_NEXT_ACTION);
	caller.symbol = "worker_loop";
	codes(c->s);
	assert_int_equal(((const struct xp_next_spec *)c->s->found.at[0]->next)->kind, XP_NEXT_SPEC);
}

static void hot_function(void **state)
{
	struct cpu_scene *c = *state;
	struct xp_hotspot *hot = spot(c, "parse", XP_FRAME_NATIVE, 9, 20);

	assert_string_equal(codes(c->s), "");
	hot->by_exclusive.exclusive = hot->exclusive_samples = 10;
	hot->entry_selector_hint = "uprobe:/srv/app:+0x1150:entry";
	hot->return_selector_hint = "uprobe:/srv/app:+0x1150:return";
	assert_string_equal(codes(c->s), "cpu_hotspot");
	assert_true(share(c->s, 0) == 0.1);
	const struct xp_finding *finding = c->s->found.at[0];
	const struct xp_measurement_spec *spec = ((const struct xp_next_spec *)finding->next)->spec;

	assert_true(finding->window_share_interval_95.set && finding->window_share_interval_95.low < 0.1);
	assert_string_equal(finding->subject, "parse");
	assert_int_equal(spec->match_policy, XP_POLICY_STACK_NESTED);
	assert_string_equal(spec->start_selector, "uprobe:/srv/app:+0x1150:entry");
	assert_string_equal(spec->name, "triage_parse");
	assert_int_equal(spec->duration_ms.v, 1000);
	/* Without a return that can be probed, more samples are the next step. */
	hot->return_selector_hint = NULL;
	codes(c->s);
	assert_string_equal(((const struct xp_next_action *)c->s->found.at[0]->next)->code, "collect_cpu_samples");
}

static void at_most_three_functions(void **state)
{
	struct cpu_scene *c = *state;

	spot(c, "a", XP_FRAME_NATIVE, 11, 11);
	spot(c, "b", XP_FRAME_NATIVE, 12, 12);
	spot(c, "c", XP_FRAME_NATIVE, 13, 13);
	spot(c, "d", XP_FRAME_NATIVE, 14, 14);
	spot(c, "native_queued_spin_lock", XP_FRAME_KERNEL, 19, 19);
	assert_string_equal(codes(c->s), "cpu_hotspot cpu_hotspot cpu_hotspot");
	assert_string_equal(c->s->found.at[0]->subject, "d");
	assert_string_equal(c->s->found.at[2]->subject, "b");
}

static void hot_function_explains_its_threads(void **state)
{
	struct cpu_scene *c = *state;
	struct xp_hotspot *hot = spot(c, "spin", XP_FRAME_NATIVE, 90, 90);
	struct xp_hot_thread both[] = { { MAIN, "main", 90, 90 }, { 73, "other", 50, 9 } };

	c->s->threads[0] = thread(MAIN, "main", 950, 0);
	c->s->threads[1] = thread(73, "other", 960, 0);
	c->s->time.n_threads = 2;
	hot->hot = both;
	hot->n_hot = 2;
	assert_string_equal(codes(c->s), "cpu_bound_thread cpu_hotspot"); /* 9 % of the other thread do not explain it */
	assert_string_equal(absorbed(c->s, 1), "cpu_bound_thread");
	both[1].exclusive = 10;
	assert_string_equal(codes(c->s), "cpu_hotspot");
}

static void python_line_of_a_native_function(void **state)
{
	struct cpu_scene *c = *state;
	struct xp_hotspot *hot = spot(c, "memcpy", XP_FRAME_NATIVE, 40, 40);
	struct xp_frame line = { .symbol = "copy", .kind = XP_FRAME_PYTHON, .source_path = "/srv/app.py", .line = XP_SOME(17) };

	hot->python_line = &line;
	hot->python_line_samples = 30;
	c->stack[0] = hot->frame;
	c->stack[1] = &line;
	c->group = (struct xp_stack_group){ .frames = c->stack, .n_frames = 2, .samples = 40, .thread_name_pattern = "main" };
	c->value.inventory.n_stack_groups = 1;
	assert_string_equal(codes(c->s), "cpu_hotspot");
	json_t *evidence = c->s->found.at[0]->evidence, *told = json_object_get(evidence, "python_line");

	assert_string_equal(json_string_value(json_object_get(told, "function")), "copy");
	assert_int_equal(json_integer_value(json_object_get(told, "line")), 17);
	assert_true(json_real_value(json_object_get(told, "share")) == 0.75);
	assert_string_equal(json_string_value(json_array_get(json_object_get(evidence, "stack"), 1)), "copy (app.py:17)");
	assert_non_null(strstr(c->s->found.at[0]->message, "app.py:17"));
}

static struct cpu_scene *main_thread_runs(void **state, uint64_t samples)
{
	struct cpu_scene *c = *state;

	c->threads[0] = (struct xp_cpu_thread){ .tid = MAIN, .name = "main", .name_pattern = "main", .samples = samples };
	c->value.n_by_thread = 1;
	return c;
}

/* A path is half of what its thread runs, however much that is of the window. */
static void hot_path(void **state)
{
	struct cpu_scene *c = main_thread_runs(state, 40);

	spot(c, "_start", XP_FRAME_NATIVE, 0, 40);
	spot(c, "handle", XP_FRAME_NATIVE, 9, 40);
	spot(c, "render", XP_FRAME_NATIVE, 9, 19);
	assert_string_equal(codes(c->s), "cpu_hot_path");
	assert_string_equal(c->s->found.at[0]->subject, "handle");
	assert_true(share(c->s, 0) == 0.4);
	c->hot[2].inclusive = 20;
	codes(c->s);
	assert_string_equal(c->s->found.at[0]->subject, "render"); /* the deepest */
	c->hot[2].in_kernel = 11;
	codes(c->s);
	assert_string_equal(c->s->found.at[0]->subject, "render");
	c->hot[2].in_kernel = 12; /* its time is the kernel's */
	codes(c->s);
	assert_string_equal(c->s->found.at[0]->subject, "handle");
	c->threads[0].samples = 19; /* too little of the window to ask */
	assert_string_equal(codes(c->s), "");
}

/* Sampling lets one of many small functions look like a tenth of the window; the path that has them all stays the answer. */
static void hot_path_beside_hot_functions(void **state)
{
	struct cpu_scene *c = main_thread_runs(state, 80);
	struct xp_hotspot *step = NULL;

	spot(c, "handle", XP_FRAME_NATIVE, 0, 80);
	step = spot(c, "step", XP_FRAME_NATIVE, 39, 39);
	assert_string_equal(codes(c->s), "cpu_hot_path cpu_hotspot");
	c->hot[1].exclusive = step->by_exclusive.exclusive = 40; /* half of the thread: nothing is left to explain */
	assert_string_equal(codes(c->s), "cpu_hotspot");
	c->hot[1].exclusive = step->by_exclusive.exclusive = 30;
	c->hot[1].inclusive = 60; /* the function is the path, too: told once, with what it calls */
	assert_string_equal(codes(c->s), "cpu_hot_path");
	assert_string_equal(c->s->found.at[0]->subject, "step");
	assert_string_equal(absorbed(c->s, 0), "cpu_hotspot");
}

static void start_up_is_no_path(void **state)
{
	struct cpu_scene *c = main_thread_runs(state, 90);
	struct xp_hotspot *loop = spot(c, "BaseEventLoop.run_forever", XP_FRAME_PYTHON, 0, 90);

	spot(c, "__libc_start_main", XP_FRAME_NATIVE, 0, 90);
	((struct xp_frame *)loop->frame)->source_path = "/usr/lib/python3.11/asyncio/base_events.py";
	assert_string_equal(codes(c->s), "");
}

static void kernel_time(void **state)
{
	struct cpu_scene *c = *state;

	c->threads[0] = (struct xp_cpu_thread){ .tid = MAIN, .name = "main", .name_pattern = "main", .samples = 60, .kernel_samples = 19 };
	c->value.n_by_thread = 1;
	assert_string_equal(codes(c->s), "");
	c->threads[0].kernel_samples = 20;
	assert_string_equal(codes(c->s), "cpu_kernel");
	assert_string_equal(((const struct xp_next_action *)c->s->found.at[0]->next)->code, "collect_cpu_samples");
	c->calls[0] = (struct xp_cpu_call){ "getrandom", 11 };
	c->threads[0].calls = c->calls;
	c->threads[0].n_calls = 1;
	codes(c->s);
	assert_string_equal(((const struct xp_next_spec *)c->s->found.at[0]->next)->spec->start_selector, "syscall:getrandom:entry");
}

/* Faults of user code belong to no call, whichever call the thread makes beside. */
static void page_faults(void **state)
{
	struct cpu_scene *c = main_thread_runs(state, 60);

	c->threads[0].kernel_samples = 40;
	c->calls[0] = (struct xp_cpu_call){ "munmap", 5 };
	c->threads[0].calls = c->calls;
	c->threads[0].n_calls = 1;
	c->threads[0].fault_samples = 19;
	codes(c->s);
	assert_non_null(strstr(c->s->found.at[0]->message, "mostly in munmap"));
	c->threads[0].fault_samples = 20;
	assert_string_equal(codes(c->s), "cpu_kernel");
	assert_non_null(strstr(c->s->found.at[0]->message, "mostly in page faults"));
	assert_string_equal(((const struct xp_next_action *)c->s->found.at[0]->next)->code, "collect_cpu_samples");
	assert_true(json_real_value(json_object_get(c->s->found.at[0]->evidence, "page_fault_share")) == 0.5);
}

/* Where no sample knows its call: the one that kept the thread running, not the one that it slept in. */
static void kernel_time_without_calls(void **state)
{
	struct cpu_scene *c = main_thread_runs(state, 60);
	struct xp_off_cpu_use sleep = { .tid = MAIN, .syscall_name = "clock_nanosleep", .total_ns = 400 * MS };
	struct xp_off_cpu_value off_cpu = { .uses = &sleep, .n_uses = 1 };

	c->threads[0].kernel_samples = 20;
	c->s->uses[0] = (struct xp_call_use){ .tid = MAIN, .thread_name = "main", .name = "clock_nanosleep", .total_ns = 410 * MS };
	c->s->uses[1] = (struct xp_call_use){ .tid = MAIN, .thread_name = "main", .name = "sched_yield", .total_ns = 100 * MS };
	c->s->view.n_uses = 2;
	c->s->input.off_cpu = &off_cpu;
	codes(c->s);
	for (size_t i = 0; i < c->s->found.n; i++)
		if (!strcmp(c->s->found.at[i]->code, "cpu_kernel"))
			assert_non_null(strstr(c->s->found.at[i]->message, "mostly in sched_yield"));
}

/* The call that most kernel samples lie in explains them, from 0.6 on. */
static void many_calls_explain_kernel_time(void **state)
{
	struct cpu_scene *c = *state;

	c->calls[0] = (struct xp_cpu_call){ "getppid", 11 };
	c->threads[0] = (struct xp_cpu_thread){
		.tid = MAIN, .name = "main", .name_pattern = "main", .samples = 60, .kernel_samples = 20, .calls = c->calls, .n_calls = 1
	};
	c->value.n_by_thread = 1;
	c->s->sums[0] = (struct xp_call_sum){ .number = 110, .name = "getppid", .calls = 50000, .total_ns = 50000000 };
	c->s->view.n_sums = 1;
	assert_string_equal(codes(c->s), "cpu_kernel syscall_rate");
	c->calls[0].samples = 12;
	assert_string_equal(codes(c->s), "syscall_rate");
	assert_true(share(c->s, 0) == 0.05);
	/* Samples see the way into the kernel and out of it; the time in the call does not have it. */
	c->s->uses[0] = (struct xp_call_use){ .tid = MAIN, .thread_name = "main", .name = "getppid", .calls = 50000, .total_ns = 50000000 };
	c->s->view.n_uses = 1;
	codes(c->s);
	assert_true(share(c->s, 0) == 0.12);
	assert_int_equal(c->s->found.at[0]->confidence, XP_ESTIMATED);
	c->s->uses[0].tid = MAIN + 1; /* of another thread nothing was sampled */
	codes(c->s);
	assert_int_equal(c->s->found.at[0]->confidence, XP_MEASURED);
	assert_string_equal(absorbed(c->s, 0), "cpu_kernel");
}

static void collections(void **state)
{
	struct cpu_scene *c = *state;

	c->s->threads[0] = thread(MAIN, "main", 990, 0);
	c->threads[0] = (struct xp_cpu_thread){ .tid = MAIN, .name = "main", .name_pattern = "main", .samples = 99, .gc_samples = 4 };
	c->value.n_by_thread = 1;
	assert_string_equal(codes(c->s), "cpu_bound_thread");
	c->threads[0].gc_samples = 5;
	assert_string_equal(codes(c->s), "python_gc");
	assert_string_equal(absorbed(c->s, 0), "cpu_bound_thread");
	assert_string_equal(((const struct xp_next_spec *)c->s->found.at[0]->next)->spec->end_selector, "python:gc_end");
}

#define CPU_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up_cpu, tear_down_cpu)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CPU_TEST(hot_function),
		CPU_TEST(first_function_of_a_thread),
		CPU_TEST(at_most_three_functions),
		CPU_TEST(hot_function_explains_its_threads),
		CPU_TEST(python_line_of_a_native_function),
		CPU_TEST(hot_path),
		CPU_TEST(hot_path_beside_hot_functions),
		CPU_TEST(page_faults),
		CPU_TEST(kernel_time_without_calls),
		CPU_TEST(start_up_is_no_path),
		CPU_TEST(kernel_time),
		CPU_TEST(many_calls_explain_kernel_time),
		CPU_TEST(collections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
