/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded thread records and samples -> value of inventory off_cpu: sums, identities, losses, names of reasons, cuts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/arena.h"
#include "base/regex.h"
#include "inventory/off_cpu_build.h"

#define MS 1000000ull
enum { START = 1000, WINDOW = 1000 }; /* ms */

struct scene {
	struct xp_arena *arena;
	struct xp_off_cpu_sum sum;
	struct xp_named_stacks named;
	struct xp_sched_lost lost;
	struct xp_frame frames[8];
	struct xp_frame *frame_list[8];
	struct xp_named_stack stacks[8];
	uint32_t words[8];
};

static int set_up(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	xp_auto_err err = { 0 };

	s->arena = xp_arena_new();
	s->sum = (struct xp_off_cpu_sum){ .arena = s->arena, .start_ns = START * MS, .end_ns = (START + WINDOW) * MS, .min_block_ns = MS };
	assert_int_equal(xp_raw_stacks_init(&s->sum.stacks, &err), 0);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	xp_off_cpu_sum_done(&s->sum);
	xp_arena_free(s->arena);
	free(s);
	return 0;
}

static struct xp_sched_place place(uint32_t nr, uint8_t where)
{
	return (struct xp_sched_place){ .nr = nr, .where = where };
}

/* A block that ended with a stack: one frame at `ip`, which is its function. */
static void sample(struct scene *s, uint32_t tid, const char *name, uint32_t nr, uint64_t ip, uint64_t ms)
{
	struct xp_rec_sample record = { .size = sizeof(record),
					.kind = XP_SAMPLE_BLOCK,
					.where = XP_BLOCK_CALL,
					.tid = tid,
					.nr = nr,
					.ip = ip,
					.sp = 16,
					.block_ns = ms * MS };
	xp_auto_err err = { 0 };

	strncpy(record.comm, name, sizeof(record.comm) - 1);
	assert_int_equal(xp_off_cpu_sum_sample(&s->sum, &record, &err), 0);
}

static struct xp_sched_thread thread(uint32_t tid, const char *name)
{
	struct xp_sched_thread record = { .tid = tid, .since_ns = START * MS };

	strncpy(record.name, name, sizeof(record.name) - 1);
	return record;
}

static void slot(struct xp_sched_thread *record, struct xp_sched_place at, uint64_t count, uint64_t ms)
{
	record->slots[record->n_slots++] = (struct xp_sched_slot){ .place = at, .count = count, .total_ns = ms * MS, .max_ns = MS / 2 };
	record->blocks += count;
	record->ns[XP_SCHED_BLOCKED] += ms * MS;
}

static void book(struct scene *s, const struct xp_sched_thread *record)
{
	xp_auto_err err = { 0 };

	assert_int_equal(xp_off_cpu_sum_thread(&s->sum, record, &err), 0);
}

/* Stack i is the function "f<i>". */
static struct xp_off_cpu_value *build(struct scene *s, uint64_t max_groups)
{
	static const char *const names[] = { "f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7" };

	s->named = (struct xp_named_stacks){ .arena = s->arena,
					     .frames = s->frame_list,
					     .words = s->words,
					     .stacks = s->stacks,
					     .n_stacks = s->sum.stacks.n_stacks,
					     .n_frames = 8 };
	assert_true(s->named.n_stacks <= 8);
	for (uint32_t i = 0; i < 8; i++) {
		s->frames[i] = (struct xp_frame){ .symbol = names[i] };
		s->frame_list[i] = &s->frames[i];
		s->words[i] = i;
		s->stacks[i].first = i;
		s->stacks[i].n = 1;
	}
	struct xp_off_cpu_value *value = xp_off_cpu_build(&s->sum, &s->named, &s->lost, max_groups, s->arena);
	uint64_t reasons = 0;

	assert_int_equal(value->account.emitted, value->account.delivered + value->account.dropped + value->account.filtered);
	for (size_t i = 0; i < value->account.n_dropped_reasons; i++)
		reasons += value->account.dropped_reasons[i].n;
	assert_int_equal(reasons, value->account.dropped);
	return value;
}

static void sums_by_stack_and_pattern(void **state)
{
	struct scene *s = *state;
	struct xp_sched_thread one = thread(7, "worker-1"), two = thread(8, "worker-22");

	for (int i = 0; i < 3; i++)
		sample(s, 7, "worker-1", SYS_read, 0x1000, 100);
	for (int i = 0; i < 2; i++)
		sample(s, 8, "worker-22", SYS_read, 0x1000, 50);
	sample(s, 8, "worker-22", SYS_futex, 0x2000, 31);
	slot(&one, place(SYS_read, XP_BLOCK_CALL), 13, 4);
	one.ns[XP_SCHED_BLOCKED] += 300 * MS;
	one.blocks += 3;
	one.ns[XP_SCHED_RUNNING] = 696 * MS;
	one.since_ns = (START + WINDOW) * MS;
	two.ns[XP_SCHED_BLOCKED] = 131 * MS;
	two.ns[XP_SCHED_RUNNABLE] = 17 * MS;
	two.blocks = 3;
	two.since_ns = (START + 148) * MS; /* and running since */
	book(s, &one);
	book(s, &two);
	struct xp_off_cpu_value *value = build(s, 256);

	assert_int_equal(value->n_groups, 3);
	assert_int_equal(value->groups[0].total_ns, 400 * MS);
	assert_int_equal(value->groups[0].count, 5);
	assert_int_equal(value->groups[0].max_ns, 100 * MS);
	assert_string_equal(value->groups[0].thread_name_pattern, "worker-#");
	assert_string_equal(value->groups[0].syscall_name, "read");
	assert_string_equal(value->groups[0].frames[0]->symbol, "f0");
	assert_int_equal(value->groups[1].reason, XP_REASON_LOCK);
	assert_int_equal(value->groups[2].n_frames, 0);
	assert_int_equal(value->groups[2].count, 13);
	assert_int_equal(value->blocks_total, 19);
	assert_int_equal(value->blocks_listed, 19);
	assert_int_equal(value->blocked_ns, 435 * MS);
	assert_int_equal(value->runqueue_ns, 17 * MS);
	assert_int_equal(value->stacks_lost, 0);
	assert_int_equal(value->n_threads, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(value->threads[i].on_cpu_ns + value->threads[i].runqueue_ns + value->threads[i].blocked_ns, WINDOW * MS);
	assert_int_equal(value->uses[0].tid, 7);
	assert_int_equal(value->uses[0].total_ns, 304 * MS);
	assert_ptr_equal(value->uses[0].longest->frames, value->groups[0].frames);
}

/* Open at the end: the whole window, with the stack that was read from outside only when it is of this very block. */
static void blocked_throughout(void **state)
{
	struct scene *s = *state;
	struct xp_sched_thread still = thread(7, "still"), moved = thread(8, "moved");
	struct xp_rec_sample record = { .size = sizeof(record), .ip = 0x1000, .sp = 16 };

	still.since_ns = moved.since_ns = 1;
	still.state = moved.state = XP_SCHED_BLOCKED;
	still.place = moved.place = place(SYS_futex, XP_BLOCK_CALL);
	still.runs = 41;
	moved.runs = 42;
	assert_true(xp_off_cpu_sum_wants(&s->sum, &still));
	xp_off_cpu_sum_still(&s->sum, &still, &record, "futex_wait_queue");
	xp_off_cpu_sum_still(&s->sum, &moved, &record, "futex_wait_queue");
	moved.runs = 43;
	book(s, &still);
	book(s, &moved);
	struct xp_off_cpu_value *value = build(s, 256);

	assert_int_equal(value->n_groups, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(value->groups[i].total_ns, WINDOW * MS);
		assert_int_equal(value->groups[i].open_at_end, 1);
	}
	const struct xp_off_cpu_group *with = &value->groups[value->groups[0].n_frames ? 0 : 1];
	assert_string_equal(with->wait_channel, "futex_wait_queue");
	assert_int_equal(value->stacks_lost, 1);
	assert_string_equal(value->account.dropped_reasons[0].name, "read_fault");
	assert_int_equal(value->account.still_open, 2);
	assert_int_equal(value->blocked_ns, 2 * WINDOW * MS);
}

/* A block shorter than the bound wants no stack, and is not lost. A thread that began in the window has a shorter one. */
static void born_late(void **state)
{
	struct scene *s = *state;
	struct xp_sched_thread late = thread(7, "late");

	late.born = 1;
	late.born_ns = (START + 900) * MS;
	late.since_ns = (START + WINDOW) * MS - 1000;
	late.state = XP_SCHED_BLOCKED;
	late.place = place(SYS_read, XP_BLOCK_CALL);
	late.ns[XP_SCHED_RUNNING] = 100 * MS - 1000;
	assert_false(xp_off_cpu_sum_wants(&s->sum, &late));
	book(s, &late);
	struct xp_off_cpu_value *value = build(s, 256);

	assert_int_equal(value->stacks_lost, 0);
	assert_int_equal(value->groups[0].total_ns, 1000);
	assert_int_equal(value->threads[0].wall_ns, 100 * MS);
}

static void reasons(void **state)
{
	static const struct {
		struct xp_sched_place place;
		enum xp_block_reason reason;
	} cases[] = {
		{ { SYS_read, XP_BLOCK_CALL, 0, { 0 } }, XP_REASON_SYSCALL },
		{ { SYS_fsync, XP_BLOCK_CALL_IO, 0, { 0 } }, XP_REASON_IO },
		{ { SYS_futex, XP_BLOCK_CALL, 0, { 0 } }, XP_REASON_LOCK },
		{ { 240, XP_BLOCK_CALL, 1, { 0 } }, XP_REASON_LOCK }, /* futex of the 32-bit table */
		{ { SYS_nanosleep, XP_BLOCK_CALL, 0, { 0 } }, XP_REASON_SLEEP },
		{ { SYS_clock_nanosleep, XP_BLOCK_CALL, 0, { 0 } }, XP_REASON_SLEEP },
		{ { XP_SCHED_NO_CALL, XP_BLOCK_PAGE_FAULT, 0, { 0 } }, XP_REASON_PAGE_FAULT },
		{ { XP_SCHED_NO_CALL, XP_BLOCK_STOPPED, 0, { 0 } }, XP_REASON_STOPPED },
		{ { XP_SCHED_NO_CALL, XP_BLOCK_EXIT, 0, { 0 } }, XP_REASON_EXIT },
		{ { XP_SCHED_NO_CALL, XP_BLOCK_OTHER, 0, { 0 } }, XP_REASON_OTHER },
		{ { XP_SCHED_NO_CALL, XP_BLOCK_MANY, 0, { 0 } }, XP_REASON_OTHER },
	};
	struct scene *s = *state;

	for (size_t i = 0; i < XP_LEN(cases); i++) {
		struct xp_sched_thread record = thread(100 + (uint32_t)i, "x");

		record.name[0] = (char)('a' + i);
		slot(&record, cases[i].place, 1, 1);
		book(s, &record);
	}
	struct xp_off_cpu_value *value = build(s, 256);

	assert_int_equal(value->n_groups, XP_LEN(cases));
	for (size_t i = 0; i < value->n_groups; i++)
		assert_int_equal(value->groups[i].reason, cases[value->groups[i].thread_name_pattern[0] - 'a'].reason);
}

static void losses_have_reasons(void **state)
{
	struct scene *s = *state;
	struct xp_sched_thread record = thread(7, "busy");

	slot(&record, place(SYS_read, XP_BLOCK_CALL), 31, 31);
	record.stacks_lost = 23;
	book(s, &record);
	s->lost = (struct xp_sched_lost){ .threads = 2, .blocks = 5, .ring_full = 13, .over_budget = 10, .ns = { 1, 2 * MS, 3 * MS } };
	struct xp_off_cpu_value *value = build(s, 256);

	assert_int_equal(value->stacks_lost, 23);
	assert_int_equal(value->threads_lost, 2);
	assert_int_equal(value->blocks_total, 36);
	assert_int_equal(value->blocked_ns, 34 * MS);
	assert_int_equal(value->account.dropped, 28);
	assert_int_equal(value->account.n_dropped_reasons, 2);
	assert_int_equal(value->account.dropped_reasons[0].n, 18);
	assert_int_equal(value->account.dropped_reasons[1].n, 10);
	assert_string_equal(value->account.dropped_reasons[1].name, "throttled");
}

static void wanted_names_only(void **state)
{
	struct scene *s = *state;
	xp_auto(xp_regex_free) struct xp_regex *regex = NULL;
	struct xp_sched_thread wanted = thread(7, "io-1"), other = thread(8, "main");
	xp_auto_err err = { 0 };

	assert_int_equal(xp_regex_new("^io", &regex, &err), 0);
	s->sum.filter = regex;
	slot(&wanted, place(SYS_read, XP_BLOCK_CALL), 3, 1);
	slot(&other, place(SYS_read, XP_BLOCK_CALL), 11, 1);
	book(s, &wanted);
	book(s, &other);
	sample(s, 8, "main", SYS_read, 0x1000, 7);
	struct xp_off_cpu_value *value = build(s, 256);

	assert_int_equal(value->blocks_total, 3);
	assert_int_equal(value->account.filtered, 11);
	assert_int_equal(value->n_groups, 1);
	assert_int_equal(value->n_threads, 1);
}

static void cut_from_the_end(void **state)
{
	struct scene *s = *state;

	for (uint32_t i = 0; i < 8; i++)
		sample(s, 7, "x", SYS_read, 0x1000 + 16 * i, 10 + i);
	struct xp_sched_thread record = thread(7, "x");

	record.blocks = record.sampled = 8;
	book(s, &record);
	struct xp_off_cpu_value *value = build(s, 5);

	assert_int_equal(value->n_groups, 5);
	assert_int_equal(value->n_groups_total, 8);
	assert_int_equal(value->blocks_listed, 5);
	assert_int_equal(value->groups[0].total_ns, 17 * MS);
	char *name = xp_arena_zalloc(s->arena, 301);

	memset(name, 'n', 300);
	s->frames[0].symbol = name;
	assert_true(xp_off_cpu_shrink(value)); /* names first */
	assert_true(strlen(s->frames[0].symbol) <= 256);
	assert_int_equal(value->n_groups, 5);
	while (xp_off_cpu_shrink(value))
		assert_int_equal(value->blocks_listed, value->n_groups);
	assert_int_equal(value->n_groups, 1);
	assert_int_equal(value->blocks_total, 8);
}

#define SCENE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE(sums_by_stack_and_pattern), SCENE(blocked_throughout), SCENE(born_late),	      SCENE(reasons),
		SCENE(losses_have_reasons),	  SCENE(wanted_names_only),  SCENE(cut_from_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
