// SPDX-License-Identifier: Apache-2.0
/* Readings -> thread times: identities, clamping, waits in progress, vanished time, groups, the filter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/regex.h"
#include "inventory/thread_time_build.h"

#define MS 1000000ull

static struct xp_proc_thread row(uint32_t tid, const char *name, uint64_t cpu_ms, uint64_t wait_ms)
{
	struct xp_proc_thread made = {
		.tid = tid, .known = true, .state = 'S', .syscall_nr = -1, .base = { .t_ns = 100 * MS }, .last = { .t_ns = 1100 * MS }
	};

	snprintf(made.comm, sizeof(made.comm), "%s", name);
	made.last.sched.cpu_ns = cpu_ms * MS;
	made.last.sched.wait_ns = wait_ms * MS;
	return made;
}

static struct xp_thread_time *build(struct xp_arena *arena, const struct xp_proc_thread *rows, size_t n, uint64_t process_ms,
				    const struct xp_regex *regex)
{
	struct xp_thread_readings in = {
		.pid = 7,
		.start_ns = 100 * MS,
		.end_ns = 1100 * MS,
		.rows = rows,
		.n = n,
		.threads = regex,
		.process_cpu_ns = XP_SOME(process_ms * MS),
	};
	struct xp_thread_time *value = NULL;
	xp_auto_err error = { 0 };

	assert_int_equal(xp_thread_time_build(&in, arena, &value, &error), 0);
	return value;
}

static void time_adds_up(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_proc_thread rows[] = { row(7, "main", 0, 0), row(11, "w-1", 300, 200), row(13, "w-2", 600, 700), row(17, "idle", 9, 0) };

	rows[3].status.voluntary = 4;
	struct xp_thread_time *value = build(arena, rows, 4, 909, NULL);

	assert_int_equal(value->threads[0].tid, 13);		   /* on-CPU + run-queue decides */
	assert_int_equal(value->threads[0].runqueue_ns, 400 * MS); /* clamped to the wall */
	assert_int_equal(value->threads[0].blocked_ns, 0);
	assert_int_equal(value->threads[1].blocked_ns, 500 * MS);
	for (size_t i = 0; i < value->n_threads; i++) {
		const struct xp_thread_row *t = &value->threads[i];

		assert_int_equal(t->on_cpu_ns + t->runqueue_ns + t->blocked_ns, t->wall_ns);
	}
	assert_int_equal(value->active, 2); /* 9 ms and 4 blocks a second are below both bounds */
	assert_int_equal(value->on_cpu_ns, 909 * MS);
	assert_int_equal(value->vanished_cpu_ns, 0);
	assert_int_equal(value->n_groups, 3);
	assert_string_equal(value->groups[0].name_pattern, "w-#");
	assert_int_equal(value->groups[0].threads, 2);
	assert_int_equal(value->groups[0].on_cpu_ns, 900 * MS);
}

static void our_own_agent_is_never_active(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_proc_thread rows[] = { row(7, "main", 0, 0), row(11, "xprobe-agent", 300, 0), row(13, "xprobe-agents", 300, 0) };

	assert_int_equal(build(arena, rows, 3, 600, NULL)->active, 1);
}

static void long_wait_is_not_blocked(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_proc_thread rows[] = { row(7, "main", 100, 200) };

	rows[0].state = 'R';
	rows[0].runnable_since_ns = 500 * MS;
	struct xp_thread_time *value = build(arena, rows, 1, 100, NULL);

	assert_int_equal(value->threads[0].waiting_ns, 600 * MS);
	assert_int_equal(value->threads[0].runqueue_ns, 800 * MS);
	assert_int_equal(value->threads[0].blocked_ns, 100 * MS);
	assert_int_equal(value->runnable_at_end, 1);
}

static void vanished_is_what_no_thread_shows(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_proc_thread rows[] = { row(7, "main", 100, 0), row(11, "kid", 23, 0) };

	rows[1].started = rows[1].ended = true;
	rows[1].base.t_ns = 1090 * MS;
	struct xp_thread_time *value = build(arena, rows, 2, 523, NULL);

	assert_int_equal(value->vanished_cpu_ns, 400 * MS);
	assert_int_equal(value->vanished_cpu_ns + value->on_cpu_ns, value->process_cpu_ns.v);
	assert_int_equal(value->started, 1);
	assert_int_equal(value->ended, 1);
	assert_int_equal(value->threads[1].wall_ns, 23 * MS); /* a newcomer's wall is at least what it used */
	/* The counter of a running thread is up to a tick old: that is no vanished thread. */
	rows[0].state = 'R';
	assert_int_equal(build(arena, rows, 1, 108, NULL)->vanished_cpu_ns, 0);
	assert_int_equal(build(arena, rows, 1, 111, NULL)->vanished_cpu_ns, 11 * MS);
}

static void patterns_are_bounded(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_proc_thread rows[40];

	for (unsigned i = 0; i < 40; i++) {
		char name[8] = { 'a', (char)('a' + i % 26), (char)('a' + i / 26), 0 };

		rows[i] = row(100 + i, name, 10 + i, 0);
	}
	struct xp_thread_time *value = build(arena, rows, 40, 1180, NULL);
	uint64_t sum = 0, threads = 0;

	assert_int_equal(value->n_groups, 16);
	assert_string_equal(value->groups[15].name_pattern, "*");
	assert_int_equal(value->groups[15].threads, 25);
	for (size_t i = 0; i < 16; i++) {
		sum += value->groups[i].on_cpu_ns;
		threads += value->groups[i].threads;
	}
	assert_int_equal(sum, value->on_cpu_ns);
	assert_int_equal(threads, 40);
}

static void filter_lists_some_and_accounts_for_all(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_proc_thread rows[] = { row(7, "main", 100, 0), row(11, "io-3", 50, 0) };
	xp_auto(xp_regex_free) struct xp_regex *regex = NULL;
	xp_auto_err error = { 0 };

	assert_int_equal(xp_regex_new("^io-", &regex, &error), 0);
	struct xp_thread_time *value = build(arena, rows, 2, 150, regex);

	assert_int_equal(value->count, 1);
	assert_int_equal(value->threads[0].tid, 11);
	assert_int_equal(value->vanished_cpu_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_adds_up),
		cmocka_unit_test(our_own_agent_is_never_active),
		cmocka_unit_test(long_wait_is_not_blocked),
		cmocka_unit_test(vanished_is_what_no_thread_shows),
		cmocka_unit_test(patterns_are_bounded),
		cmocka_unit_test(filter_lists_some_and_accounts_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
