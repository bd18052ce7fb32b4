/* SPDX-License-Identifier: Apache-2.0 */
/* From records of the engine to the value: order of lists, the row for the rest, errors, open calls, the account, shrinking. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/regex.h"
#include "inventory/syscalls_build.h"

static const struct xp_window window = { .start_ns = 1000, .end_ns = 101000, .end = XP_END_DURATION, .opened = true };

struct fixture {
	struct xp_arena *arena;
	struct xp_syscalls_sum sum;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->arena = xp_arena_new();
	f->sum.arena = f->arena;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	xp_syscalls_sum_done(&f->sum);
	xp_arena_free(f->arena);
	free(f);
	return 0;
}

/* A living thread with one cell of `count` calls of `ns` each. */
static void add(struct fixture *f, uint32_t id, const char *name, uint32_t nr, uint64_t count, uint64_t ns)
{
	struct xp_sys_thread thread = { .thread = id, .tid = 100 + id, .entries = count, .matched = count };
	struct xp_sys_cell cell = { .count = count, .total_ns = count * ns, .min_ns = ns, .max_ns = ns };
	xp_auto_err err = { 0 };

	snprintf(thread.name, sizeof(thread.name), "%s", name);
	cell.buckets[10] = count;
	assert_int_equal(xp_syscalls_sum_thread(&f->sum, &thread, &err), 0);
	assert_int_equal(xp_syscalls_sum_cell(&f->sum, &(struct xp_sys_key){ .thread = id, .nr = nr }, &cell, &err), 0);
}

static struct xp_syscalls *build(struct fixture *f)
{
	return xp_syscalls_build(&f->sum, &(struct xp_inventory_request){ .max_groups = 256 }, &window, f->arena);
}

static void test_order(void **state)
{
	struct fixture *f = *state;

	add(f, 1, "a", 3, 5, 100);
	add(f, 2, "a", 0, 50, 10);
	add(f, 3, "a", 7, 1, 900);
	add(f, 4, "a", 1, 5, 100);
	add(f, 5, "a", 3, 1, 1);
	struct xp_syscalls *value = build(f);
	static const uint32_t wanted[] = { 7, 3, 0, 1 };

	assert_int_equal(value->inventory.n_groups, 4);
	for (size_t i = 0; i < XP_LEN(wanted); i++)
		assert_int_equal(value->inventory.groups[i].syscall_number, wanted[i]);
	assert_int_equal(value->inventory.groups[1].threads, 2);
	assert_int_equal(value->inventory.groups[1].duration_ns.min, 1);
	assert_true(value->inventory.groups[1].duration_ns.mean == 501.0 / 6);
	assert_int_equal(value->collection.matched_exits, 62);
	assert_true(value->collection.table_utilization == 4.0 / 256);
	assert_int_equal(value->thread_calls[0].tid, 103);
}

/* 20 patterns: the 15 largest, and the rest with what had no name at all. */
static void test_patterns(void **state)
{
	struct fixture *f = *state;
	struct xp_sys_cell cell = { .count = 3, .total_ns = 3 };
	xp_auto_err err = { 0 };
	char name[16];

	for (uint32_t i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "%c-%u", 'a' + i, i);
		add(f, i + 1, name, 0, 1, 1000 - i);
	}
	assert_int_equal(xp_syscalls_sum_cell(&f->sum, &(struct xp_sys_key){ .thread = 999 }, &cell, &err), 0);
	struct xp_syscalls *value = build(f);

	assert_int_equal(value->n_threads, 16);
	assert_string_equal(value->threads[0].name_pattern, "a-#");
	assert_string_equal(value->threads[14].name_pattern, "o-#");
	assert_string_equal(value->threads[15].name_pattern, "*");
	assert_int_equal(value->threads[15].threads, 5);
	assert_int_equal(value->threads[15].calls, 5 + 3);
}

static void test_sixteen_patterns_need_no_rest(void **state)
{
	struct fixture *f = *state;
	char name[16];

	for (uint32_t i = 0; i < 16; i++) {
		snprintf(name, sizeof(name), "%c", 'a' + i);
		add(f, i + 1, name, 0, 1, 1);
	}
	struct xp_syscalls *value = build(f);

	assert_int_equal(value->n_threads, 16);
	assert_string_equal(value->threads[15].name_pattern, "p");
}

static void test_errors(void **state)
{
	struct fixture *f = *state;
	struct xp_sys_thread thread = { .thread = 1, .tid = 1 };
	struct xp_sys_cell cell = { .count = 20, .errors = 17, .errno_other = 4 };
	xp_auto_err err = { 0 };

	cell.errnos[0] = (struct xp_sys_errno){ .errnum = 9, .n = 2 };
	cell.errnos[1] = (struct xp_sys_errno){ .errnum = 11, .n = 8 };
	cell.errnos[2] = (struct xp_sys_errno){ .errnum = 999, .n = 3 };
	assert_int_equal(xp_syscalls_sum_thread(&f->sum, &thread, &err), 0);
	assert_int_equal(xp_syscalls_sum_cell(&f->sum, &(struct xp_sys_key){ .thread = 1 }, &cell, &err), 0);
	const struct xp_syscall_group *group = &build(f)->inventory.groups[0];

	assert_int_equal(group->n_errors_by_errno, 4);
	static const struct xp_count wanted[] = { { "EAGAIN", 8 }, { "other", 4 }, { "E999", 3 }, { "EBADF", 2 } };

	for (size_t i = 0; i < XP_LEN(wanted); i++) {
		assert_string_equal(group->errors_by_errno[i].name, wanted[i].name);
		assert_int_equal(group->errors_by_errno[i].n, wanted[i].n);
	}
}

static void test_open_calls(void **state)
{
	struct fixture *f = *state;
	struct xp_sys_thread thread = { .thread = 1, .tid = 11, .entries = 2, .name = "x", .n_pending = 1 };
	xp_auto_err err = { 0 };

	thread.open = (struct xp_sys_call){ .nr = 1, .start_ns = 51000, .flags = XP_SYS_OPEN | XP_SYS_COUNTED };
	thread.pending[0] = (struct xp_sys_call){ .nr = 0, .start_ns = 31000, .flags = XP_SYS_OPEN | XP_SYS_COUNTED };
	assert_int_equal(xp_syscalls_sum_thread(&f->sum, &thread, &err), 0);
	thread = (struct xp_sys_thread){ .thread = 2, .tid = 12, .open = { .nr = 202, .flags = XP_SYS_OPEN } };
	assert_int_equal(xp_syscalls_sum_thread(&f->sum, &thread, &err), 0);
	thread = (struct xp_sys_thread){ .thread = 3, .tid = 13, .open = { .nr = 15, .flags = XP_SYS_OPEN | XP_SYS_RETURN } };
	assert_int_equal(xp_syscalls_sum_thread(&f->sum, &thread, &err), 0);
	thread = (struct xp_sys_thread){ .thread = 4,
					 .tid = 14,
					 .entries = 1,
					 .dropped_inflight = 1,
					 .open = { .flags = XP_SYS_OPEN | XP_SYS_COUNTED | XP_SYS_DROPPED } };
	assert_int_equal(xp_syscalls_sum_thread(&f->sum, &thread, &err), 0);
	struct xp_syscalls *value = build(f);

	assert_int_equal(value->n_open_at_end, 3);
	assert_int_equal(value->open_at_end[0].tid, 12);
	assert_int_equal(value->open_at_end[0].age_ns, 100000);
	assert_true(value->open_at_end[0].started_before_window);
	assert_string_equal(value->open_at_end[0].syscall_name, "futex");
	assert_int_equal(value->open_at_end[1].age_ns, 70000);
	assert_int_equal(value->open_at_end[2].age_ns, 50000);
	assert_int_equal(value->collection.inflight_at_end, 3);
	assert_int_equal(value->collection.open_at_start_still_open, 1);
	assert_int_equal(value->collection.dropped_aggregates, 1);
	assert_int_equal(value->collection.observed_entries, 3);
	assert_int_equal(value->collection.sources[0].still_open, 2);
	assert_int_equal(value->collection.completeness, XP_INCOMPLETE);
}

/* A thread that a filter leaves out is in the account and nowhere else; a lost record cannot pass a filter. */
static void test_filter(void **state)
{
	struct fixture *f = *state;
	xp_auto(xp_regex_free) struct xp_regex *regex = NULL;
	xp_auto_err err = { 0 };

	assert_int_equal(xp_regex_new("^io", &regex, &err), 0);
	f->sum.filter = regex;
	add(f, 1, "io-1", 0, 5, 1);
	add(f, 2, "cpu-1", 0, 7, 1);
	xp_syscalls_sum_lost(&f->sum, &(struct xp_sys_thread){ .entries = 11, .matched = 11 });
	struct xp_syscalls *value = build(f);

	assert_int_equal(value->collection.observed_entries, 5);
	assert_int_equal(value->inventory.groups[0].count, 5);
	assert_int_equal(value->n_threads, 1);
	assert_int_equal(value->collection.sources[0].emitted, 23);
	assert_int_equal(value->collection.sources[0].filtered, 18);
	assert_int_equal(value->collection.sources[0].delivered, 5);
}

static void test_nothing_happened(void **state)
{
	struct fixture *f = *state;
	struct xp_syscalls *value = build(f);

	assert_int_equal(value->inventory.n_groups + value->n_open_at_end + value->n_threads, 0);
	assert_int_equal(value->collection.completeness, XP_COMPLETE);
	assert_int_equal(value->head.status, XP_COMPLETED);
	assert_false(xp_syscalls_shrink(value));
}

static void test_shrink(void **state)
{
	struct fixture *f = *state;
	size_t before;

	for (uint32_t i = 0; i < 40; i++)
		add(f, i + 1, "t", i, 1, 1000 - i);
	struct xp_syscalls *value = build(f);
	do {
		before = value->inventory.n_groups;
		assert_int_equal(value->collection.groups_listed, before);
		assert_int_equal(value->inventory.groups[0].syscall_number, 0);
	} while (xp_syscalls_shrink(value) && value->inventory.n_groups < before);
	assert_int_equal(value->inventory.n_groups, 1);
	assert_int_equal(value->collection.groups, 40);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_order),
		TEST(test_patterns),
		TEST(test_sixteen_patterns_need_no_rest),
		TEST(test_errors),
		TEST(test_open_calls),
		TEST(test_filter),
		TEST(test_nothing_happened),
		TEST(test_shrink),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
