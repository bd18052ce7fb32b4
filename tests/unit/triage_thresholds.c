// SPDX-License-Identifier: Apache-2.0
/* Every rule of the list on both sides of its bound: silent just below, speaking at it. A rule without a row here fails the test. */
#include "triage_scene_gpu.h"

/* Fills a window so that the rule's number is `at` its bound, or the next smaller one. */
typedef void fill_fn(struct gpu_scene *g, bool at);

static void busy_children(struct gpu_scene *g, bool at)
{
	g->s->threads[0] = thread(MAIN, "main", 300, 0);
	g->s->time.children_total = 1;
	g->s->time.children_cpu_ns = at ? 500 * MS : 500 * MS - 1;
}

static void cgroup_throttled(struct gpu_scene *g, bool at)
{
	g->s->threads[0] = thread(MAIN, "main", 300, 40);
	g->s->levels[0].throttled_periods.v = 1;
	g->s->levels[0].throttled_ns.v = at ? 20 * MS : 20 * MS - 1;
}

static void cpu_bound_thread(struct gpu_scene *g, bool at)
{
	g->s->threads[0] = thread(MAIN, "main", 900, 0);
	g->s->threads[0].on_cpu_ns -= at ? 0 : 1;
}

static void cpu_hot_path(struct gpu_scene *g, bool at)
{
	hot(g, "render", 9, 0, 0);
	g->hot.inclusive = 29;
	g->threads[0].samples = at ? 58 : 59;
}

static void cpu_hotspot(struct gpu_scene *g, bool at)
{
	hot(g, "parse", at ? 10 : 9, 0, 0);
}

static void cpu_kernel(struct gpu_scene *g, bool at)
{
	g->threads[0].kernel_samples = at ? 20 : 19;
}

static void fully_blocked(struct gpu_scene *g, bool at)
{
	g->s->threads[0] = thread(MAIN, "main", at ? 9 : 10, 0);
	g->s->time.active = !at;
}

static void gpu_copies(struct gpu_scene *g, bool at)
{
	copy(g, XP_COPY_DTOD, XP_MEMORY_DEVICE, XP_MEMORY_DEVICE, 7, at ? 100 : 99.999);
}

static void gpu_idle(struct gpu_scene *g, bool at)
{
	kernel(g, "step", 0, 7, at ? 499.999 : 500);
}

static void gpu_kernel(struct gpu_scene *g, bool at)
{
	kernel(g, "step", 0, 7, at ? 100 : 99.999);
}

static void gpu_launch_bound(struct gpu_scene *g, bool at)
{
	kernel(g, "step", 0, at ? 5000 : 4999, 50);
}

static void gpu_pageable_copies(struct gpu_scene *g, bool at)
{
	copy(g, XP_COPY_HTOD, XP_MEMORY_PAGEABLE, XP_MEMORY_DEVICE, 7, at ? 50 : 49.999);
}

static void gpu_wait(struct gpu_scene *g, bool at)
{
	spins(g, "cudaEventSynchronize", at ? 20 : 19);
}

static void grant_right(struct gpu_scene *g, bool at)
{
	g->s->input.sources[XP_SOURCE_GPU] =
		xp_source_unavailable(XP_SOURCE_GPU, at ? XP_REASON_NOT_PERMITTED : XP_REASON_UNSUPPORTED, NULL);
}

static void major_faults(struct gpu_scene *g, bool at)
{
	g->s->time.major_faults = at ? 100 : 99;
}

static void python_gc(struct gpu_scene *g, bool at)
{
	g->threads[0].gc_samples = at ? 5 : 4;
}

static void python_gil(struct gpu_scene *g, bool at)
{
	g->off_use = (struct xp_off_cpu_use){
		.tid = MAIN, .syscall_name = "futex", .total_ns = 200 * MS, .lock_ns = at ? 100 * MS : 100 * MS - 1
	};
	g->off_cpu.n_uses = 1;
}

static void runqueue_wait(struct gpu_scene *g, bool at)
{
	g->s->threads[0] = thread(MAIN, "main", 300, 50);
	g->s->threads[0].runqueue_ns -= at ? 0 : 1;
}

static void call(struct gpu_scene *g, const char *name, uint64_t calls, uint64_t errors, uint64_t total_ns)
{
	g->s->sums[0] = (struct xp_call_sum){ .name = name, .calls = calls, .errors = errors, .total_ns = total_ns, .top_errno = "ENOENT" };
	g->s->uses[0] = (struct xp_call_use){ .tid = MAIN, .thread_name = "main", .name = name, .calls = calls, .total_ns = total_ns };
	g->s->view.n_sums = g->s->view.n_uses = 1;
	g->s->input.off_cpu = NULL;
	g->s->input.sources[XP_SOURCE_OFF_CPU] = xp_source_unavailable(XP_SOURCE_OFF_CPU, XP_REASON_ABSENT, NULL);
}

static void syscall_blocked(struct gpu_scene *g, bool at)
{
	call(g, "fsync", 7, 0, at ? 50 * MS : 50 * MS - 1);
}

static void syscall_errors(struct gpu_scene *g, bool at)
{
	call(g, "openat", 100, at ? 50 : 49, 1 * MS);
}

static void syscall_rate(struct gpu_scene *g, bool at)
{
	call(g, "getppid", at ? 20000 : 19999, 0, 2 * MS);
}

static void thread_churn(struct gpu_scene *g, bool at)
{
	g->s->time.vanished_cpu_ns = at ? 100 * MS : 100 * MS - 1;
}

static const struct {
	const char *code;
	fill_fn *fill;
} rows[] = {
#define ROW(name)           \
	{                   \
#name, name \
	}
	ROW(busy_children),    ROW(cgroup_throttled), ROW(cpu_bound_thread),	ROW(cpu_hot_path), ROW(cpu_hotspot),
	ROW(cpu_kernel),       ROW(fully_blocked),    ROW(gpu_copies),		ROW(gpu_idle),	   ROW(gpu_kernel),
	ROW(gpu_launch_bound), ROW(gpu_wait),	      ROW(gpu_pageable_copies), ROW(grant_right),  ROW(major_faults),
	ROW(python_gc),	       ROW(python_gil),	      ROW(runqueue_wait),	ROW(syscall_rate), ROW(syscall_blocked),
	ROW(syscall_errors),   ROW(thread_churn),
#undef ROW
};

/* Rules that judge other values than this scene has; their own tests stand on both sides of the bound. */
static const char *const elsewhere[] = { "gpu_clock_limited", "gpu_errors", "gpu_link_degraded", "gpu_memory_pressure", "waits_for_child" };

static bool speaks(const char *code, fill_fn *fill, bool at)
{
	struct gpu_scene *g;
	bool found = false;
	void *scene;

	set_up_gpu(&scene);
	g = scene;
	fill(g, at);
	codes(g->s);
	for (size_t i = 0; i < g->s->found.n; i++)
		found |= !strcmp(g->s->found.at[i]->code, code);
	tear_down_gpu(&scene);
	return found;
}

static bool is_elsewhere(const char *code)
{
	for (size_t i = 0; i < XP_LEN(elsewhere); i++)
		if (!strcmp(elsewhere[i], code))
			return true;
	return false;
}

static void both_sides(void **state)
{
	size_t n;
	const struct xp_rule *const *rules = xp_rules(&n);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		size_t at = 0;

		while (at < XP_LEN(rows) && strcmp(rows[at].code, rules[i]->code))
			at++;
		print_message("%s\n", rules[i]->code);
		if (at == XP_LEN(rows) && is_elsewhere(rules[i]->code))
			continue;
		assert_true(at < XP_LEN(rows));
		assert_false(speaks(rows[at].code, rows[at].fill, false));
		assert_true(speaks(rows[at].code, rows[at].fill, true));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(both_sides) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
