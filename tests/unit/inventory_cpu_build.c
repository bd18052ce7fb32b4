// SPDX-License-Identifier: Apache-2.0
/* Counts by thread and stack -> groups, hotspots, intervals, threads, notes; the size budget. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "inventory/cpu_build.h"
#include "inventory/interval.h"
#include "inventory/inventory.h"

enum { FREQUENCY = 100 };

/* Frames by number: 0..3 native, 4 and 5 two lines of one Python function, 6 kernel. */
enum { START, OUTER, HOT, LEAF, LINE_A, LINE_B, SYSCALL, N_FRAMES, N_FUNCTIONS = N_FRAMES - 1 };
static const uint32_t function_of[N_FRAMES] = { 0, 1, 2, 3, 4, 4, 5 };

struct fixture {
	struct xp_arena *arena;
	struct xp_frame frames[N_FRAMES], *frame_at[N_FRAMES];
	struct xp_named_stack named_stacks[8];
	struct xp_raw_stack raw[8];
	uint32_t words[64], functions[N_FRAMES];
	struct xp_cpu_sum_thread threads[3];
	struct xp_cpu_cell cells[16];
	struct xp_cpu_sum sum;
	struct xp_named_stacks named;
	struct xp_inventory_request request;
	struct xp_window window;
	struct xp_cpu_facts facts;
};

static void add_stack(struct fixture *f, size_t n, const uint32_t *frames)
{
	size_t at = f->named.n_stacks++;

	f->named_stacks[at] = (struct xp_named_stack){ .first = (uint32_t)f->named.n_words, .n = (uint32_t)n };
	memcpy(f->words + f->named.n_words, frames, n * sizeof(*frames));
	f->named.n_words += n;
	f->raw[at].n_kernel = frames[0] == SYSCALL;
}
#define STACK(f, ...) add_stack((f), sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), (uint32_t[]){ __VA_ARGS__ })

static void count(struct fixture *f, uint32_t thread, uint32_t stack, uint64_t samples)
{
	f->cells[f->sum.n_cells++] = (struct xp_cpu_cell){ thread, stack, samples };
	f->sum.observed += samples;
	f->threads[thread].samples += samples;
	f->facts.counts.emitted += samples;
}

static int set_up(void **state)
{
	static const char *const names[N_FRAMES] = { "_start", "outer", "hot", "leaf", "work", "work", "ksys" };
	struct fixture *f = calloc(1, sizeof(*f));

	f->arena = xp_arena_new();
	for (int i = 0; i < N_FRAMES; i++) {
		bool python = i == LINE_A || i == LINE_B;

		f->frames[i] = (struct xp_frame){ .address = python ? 0 : 0x1000u + (unsigned)i,
						  .symbol = names[i],
						  .kind = python	 ? XP_FRAME_PYTHON
							  : i == SYSCALL ? XP_FRAME_KERNEL
									 : XP_FRAME_NATIVE,
						  .language = python ? XP_LANGUAGE_PYTHON : XP_LANGUAGE_NATIVE };
		if (python) {
			f->frames[i].source_path = "/srv/app.py";
			f->frames[i].line = (struct xp_opt_u32)XP_SOME(i == LINE_A ? 11 : 13);
		}
		f->frame_at[i] = &f->frames[i];
		f->functions[i] = function_of[i];
	}
	f->named = (struct xp_named_stacks){ .arena = f->arena,
					     .frames = f->frame_at,
					     .function_of = f->functions,
					     .n_frames = N_FRAMES,
					     .n_functions = N_FUNCTIONS,
					     .words = f->words,
					     .stacks = f->named_stacks };
	f->threads[0] = (struct xp_cpu_sum_thread){ .tid = 71, .name = "main", .name_pattern = "main" };
	f->threads[1] = (struct xp_cpu_sum_thread){ .tid = 73, .name = "worker-1", .name_pattern = "worker-#" };
	f->threads[2] = (struct xp_cpu_sum_thread){ .tid = 79, .name = "worker-2", .name_pattern = "worker-#" };
	f->sum = (struct xp_cpu_sum){ .arena = f->arena, .threads = f->threads, .n_threads = 3, .cells = f->cells };
	f->sum.stacks.stacks = f->raw;
	f->request = (struct xp_inventory_request){ .frequency_hz = FREQUENCY,
						    .duration_ms = 2000,
						    .max_samples = 10000,
						    .max_groups = 256,
						    .stack_depth = 64,
						    .max_threads = 1024 };
	f->window = (struct xp_window){ .start_ns = 1, .end_ns = 2000000001, .end = XP_END_DURATION, .opened = true };
	f->facts = (struct xp_cpu_facts){ .request = &f->request,
					  .window = &f->window,
					  .cpu_ns = XP_SOME(1000000000),
					  .counts = { .threads_observed = 3, .threads_attached = 3 } };
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	xp_arena_free(f->arena);
	free(f);
	return 0;
}

static struct xp_cpu_samples *build(struct fixture *f)
{
	return xp_cpu_samples_build(&f->sum, &f->named, &f->facts, f->arena);
}

static const struct xp_hotspot *spot_of(const struct xp_cpu_samples *value, const char *symbol)
{
	for (size_t i = 0; i < value->inventory.n_hotspots; i++)
		if (!strcmp(value->inventory.hotspots[i].frame->symbol, symbol))
			return &value->inventory.hotspots[i];
	fail_msg("no hotspot %s", symbol);
	return NULL;
}

static bool has_issue(const struct xp_cpu_samples *value, const char *code, enum xp_severity severity)
{
	for (size_t i = 0; i < value->quality.n_issues; i++)
		if (!strcmp(value->quality.issues[i].code, code))
			return value->quality.issues[i].severity == (int)severity;
	return false;
}

static void wilson(void **state)
{
	struct xp_interval interval = xp_interval_95(50, 100);

	/* 0.4038315, 0.5961685: the textbook's. */
	assert_true(interval.set && fabs(interval.low - 0.4038315) < 1e-6 && fabs(interval.high - 0.5961685) < 1e-6);
	interval = xp_interval_95(0, 30);
	assert_true(interval.low == 0 && fabs(interval.high - 0.1135130) < 1e-6);
	interval = xp_interval_95(30, 30);
	assert_true(interval.high == 1 && fabs(interval.low - 0.8864870) < 1e-6);
	assert_false(xp_interval_95(0, 0).set);
}

static void groups_by_stack_and_thread_name(void **state)
{
	struct fixture *f = *state;

	STACK(f, LEAF, HOT, OUTER, START);
	STACK(f, HOT, OUTER, START);
	count(f, 0, 0, 31);
	count(f, 1, 0, 17); /* two workers, one group */
	count(f, 2, 0, 19);
	count(f, 0, 1, 33);
	const struct xp_cpu_samples *value = build(f);

	assert_int_equal(value->inventory.n_stack_groups, 3);
	assert_int_equal(value->inventory.stack_groups[0].samples, 36);
	assert_string_equal(value->inventory.stack_groups[0].thread_name_pattern, "worker-#");
	assert_int_equal(value->inventory.stack_groups[1].samples, 33);
	assert_int_equal(value->inventory.stack_groups[2].samples, 31);
	assert_true(value->inventory.stack_groups[1].proportion == 0.33);
	assert_int_equal(value->collection.grouped_samples, 100);
	assert_int_equal(value->n_threads, 2);
	assert_string_equal(value->threads[0].name_pattern, "main");
	assert_int_equal(value->threads[0].samples, 64);
	assert_int_equal(value->threads[1].threads, 2);
	assert_int_equal(value->threads[1].cpu_ns, 360000000); /* not read: by their samples */
}

static void recursion_counts_once(void **state)
{
	struct fixture *f = *state;

	STACK(f, HOT, HOT, LEAF, HOT, START);
	STACK(f, LEAF, HOT, START);
	count(f, 0, 0, 7);
	count(f, 0, 1, 11);
	const struct xp_cpu_samples *value = build(f);
	const struct xp_hotspot *hot = spot_of(value, "hot");

	assert_int_equal(hot->inclusive_samples, 18);
	assert_int_equal(hot->exclusive_samples, 7);
	assert_string_equal(value->inventory.hotspots[0].frame->symbol, "leaf");
	assert_int_equal(spot_of(value, "_start")->inclusive_samples, 18);
	assert_int_equal(spot_of(value, "_start")->exclusive_samples, 0);
}

static void python_functions_show_their_busiest_line(void **state)
{
	struct fixture *f = *state;

	STACK(f, LINE_A, START);
	STACK(f, LINE_B, START);
	STACK(f, LEAF, LINE_B, START);
	count(f, 0, 0, 5);
	count(f, 0, 1, 3);
	count(f, 0, 2, 13);
	const struct xp_cpu_samples *value = build(f);
	const struct xp_hotspot *work = spot_of(value, "work"), *leaf = spot_of(value, "leaf");

	assert_int_equal(work->exclusive_samples, 8);
	assert_int_equal(work->inclusive_samples, 21);
	assert_int_equal(work->frame->line.v, 13);
	assert_int_equal(leaf->python_line->line.v, 13);
	assert_int_equal(leaf->python_line_samples, 13);
	assert_int_equal(value->inventory.n_stack_groups, 3); /* lines make stacks different */
}

static void samples_under_the_collector_are_not_the_functions(void **state)
{
	struct fixture *f = *state;

	STACK(f, HOT, START);
	STACK(f, HOT, OUTER, START);
	f->named_stacks[1].collector = true;
	count(f, 1, 0, 41);
	count(f, 1, 1, 43);
	const struct xp_cpu_samples *value = build(f);
	const struct xp_hotspot *hot = spot_of(value, "hot");

	assert_int_equal(hot->exclusive_samples, 84);
	assert_int_equal(hot->by_exclusive.exclusive, 41);
	assert_int_equal(hot->by_exclusive.tid, 73);
	assert_int_equal(hot->n_hot, 1);
	assert_int_equal(value->by_thread[0].gc_samples, 43);
}

static void kernel_samples_by_call(void **state)
{
	struct fixture *f = *state;

	STACK(f, SYSCALL, START);
	STACK(f, SYSCALL, OUTER, START);
	f->named_stacks[0].kernel_call = "futex";
	f->named_stacks[1].kernel_call = "read";
	f->named_stacks[0].page_fault = true;
	f->sum.kernel = 30;
	count(f, 0, 0, 11);
	count(f, 0, 1, 19);
	const struct xp_cpu_samples *value = build(f);

	assert_int_equal(value->by_thread[0].kernel_samples, 30);
	assert_int_equal(value->by_thread[0].n_calls, 2);
	assert_string_equal(value->by_thread[0].calls[0].name, "read");
	assert_int_equal(value->by_thread[0].fault_samples, 11);
	assert_int_equal(value->collection.kernel_samples.v, 30);
	f->facts.no_kernel = "kernel.perf_event_paranoid is 2";
	f->facts.system_ns = 200000000;
	value = build(f);
	assert_false(value->collection.kernel_samples.set);
	assert_true(has_issue(value, "kernel_time_missing", XP_CAUTION));
}

static void account_and_coverage(void **state)
{
	struct fixture *f = *state;

	STACK(f, HOT, START);
	count(f, 0, 0, 83);
	f->facts.counts.ring_full = 7;
	f->facts.counts.filtered = 5;
	f->sum.filtered = 3;
	f->sum.no_room = 2;
	f->sum.damaged = 1;
	const struct xp_cpu_samples *value = build(f);
	const struct xp_account *account = &value->collection.sources[0];

	assert_int_equal(account->delivered, 83);
	assert_int_equal(account->dropped, 10);
	assert_int_equal(account->filtered, 8);
	assert_int_equal(account->emitted, 101);
	assert_int_equal(account->n_dropped_reasons, 3);
	assert_true(value->collection.expected_samples == 100);
	assert_true(fabs(value->collection.coverage.v - 0.91) < 1e-12); /* with the ones that only the filter took */
	assert_int_equal(value->collection.lost_samples, 10);
	assert_true(has_issue(value, "lost_samples", XP_CAUTION));
	assert_int_equal(value->collection.completeness, XP_CPU_INCOMPLETE);
}

static void low_coverage(void **state)
{
	struct fixture *f = *state;

	STACK(f, HOT, START);
	count(f, 0, 0, 89);
	assert_true(has_issue(build(f), "low_coverage", XP_CAUTION));
	count(f, 0, 0, 1);
	assert_false(has_issue(build(f), "low_coverage", XP_CAUTION));
	f->facts.cpu_ns.set = false;
	f->facts.cpu_ns.v = 0;
	assert_false(build(f)->collection.coverage.set);
}

static void doubtful_stacks(void **state)
{
	struct fixture *f = *state;

	STACK(f, HOT, START);
	STACK(f, LEAF);
	STACK(f, OUTER);
	f->raw[1].end = XP_UNWIND_FAILED;
	f->named_stacks[2].more = true;
	count(f, 0, 0, 94);
	count(f, 0, 1, 5);
	count(f, 0, 2, 6);
	const struct xp_cpu_samples *value = build(f);

	assert_int_equal(value->collection.unwind_failed, 5);
	assert_int_equal(value->collection.truncated_stacks, 6);
	assert_true(has_issue(value, "unwind_failures", XP_INFO)); /* 5 of 105 */
	assert_true(has_issue(value, "truncated_stacks", XP_CAUTION));
}

static void more_stacks_than_groups(void **state)
{
	struct fixture *f = *state;

	STACK(f, HOT, START);
	STACK(f, LEAF, START);
	count(f, 0, 0, 60);
	count(f, 0, 1, 40);
	f->request.max_groups = 1;
	const struct xp_cpu_samples *value = build(f);

	assert_int_equal(value->inventory.n_stack_groups, 1);
	assert_int_equal(value->collection.grouped_samples, 60);
	assert_int_equal(spot_of(value, "leaf")->exclusive_samples, 40);
	assert_true(value->group_capacity_reached && has_issue(value, "group_capacity", XP_CAUTION));
}

static void python_without_frames(void **state)
{
	struct fixture *f = *state;

	STACK(f, HOT, START);
	count(f, 0, 0, 97);
	f->facts.python_status = XP_PYTHON_ACTIVE;
	f->facts.python_version = "3.11.2";
	const struct xp_cpu_samples *value = build(f);

	assert_true(has_issue(value, "python_unresolved", XP_CAUTION));
	assert_string_equal(value->head.warnings[0].code, "PYTHON_FRAMES_UNRESOLVED");
	assert_int_equal(value->symbolization.python_source, XP_PYTHON_FROM_NOTHING);
	f->named.counts.python = 1;
	assert_false(has_issue(build(f), "python_unresolved", XP_CAUTION));
}

static void nothing_sampled(void **state)
{
	struct fixture *f = *state;

	f->sum.n_threads = 0;
	const struct xp_cpu_samples *value = build(f);

	assert_true(xp_cpu_samples_empty(value));
	assert_int_equal(value->inventory.n_stack_groups, 0);
	assert_int_equal(value->n_threads, 0);
}

static uint64_t samples_of_rows(const struct xp_cpu_samples *value)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < value->n_threads; i++)
		sum += value->threads[i].samples;
	return sum;
}

/* Every step shortens the document, lists keep their order, and in the end nothing is left to cut. */
static void shrinks_to_nothing(void **state)
{
	struct fixture *f = *state;
	size_t last = SIZE_MAX;

	STACK(f, LEAF, HOT, OUTER, START);
	STACK(f, HOT, OUTER, START);
	count(f, 0, 0, 31);
	count(f, 1, 1, 17);
	struct xp_cpu_samples *value = build(f);
	uint32_t threads = 0;
	for (size_t i = 0; i < value->n_threads; i++)
		threads += value->threads[i].threads;
	do {
		xp_auto_builder text = { 0 };
		struct xp_json json = { .out = &text };

		xp_record_write(&json, &xp_cpu_samples_record, value, false);
		assert_true(text.len < last);
		last = text.len;
		assert_int_equal(value->collection.groups_listed, value->inventory.n_stack_groups);
		assert_int_equal(value->collection.hotspots_listed, value->inventory.n_hotspots);
		/* Rows that were cut took their threads and samples with them. */
		assert_int_equal(samples_of_rows(value), 31 + 17);
	} while (xp_cpu_samples_shrink(value));
	assert_int_equal(value->inventory.n_stack_groups + value->inventory.n_hotspots, 0);
	assert_int_equal(value->n_threads, 1);
	assert_string_equal(value->threads[0].name_pattern, "*");
	assert_int_equal(value->threads[0].threads, threads);
	assert_true(last < 4096);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wilson),
		TEST(groups_by_stack_and_thread_name),
		TEST(recursion_counts_once),
		TEST(python_functions_show_their_busiest_line),
		TEST(samples_under_the_collector_are_not_the_functions),
		TEST(kernel_samples_by_call),
		TEST(account_and_coverage),
		TEST(low_coverage),
		TEST(doubtful_stacks),
		TEST(more_stacks_than_groups),
		TEST(python_without_frames),
		TEST(nothing_sampled),
		TEST(shrinks_to_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
