/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded input for rules: one process, one window of 1,000 ms, in which no rule has anything to say until a test changes it. */
#ifndef XP_TEST_TRIAGE_SCENE_H
#define XP_TEST_TRIAGE_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "triage/rule.h"

#define MS 1000000ull
enum { MAIN = 71 };

/* A window of 1,000 ms with everything that a rule may look at. */
struct scene {
	struct xp_arena *arena;
	struct xp_thread_row threads[4];
	struct xp_thread_time time;
	struct xp_cgroup_level levels[2];
	struct xp_cgroup cgroup;
	struct xp_call_sum sums[4];
	struct xp_call_use uses[4];
	struct xp_view_open open[2];
	struct xp_syscall_view view;
	struct xp_triage_input input;
	struct xp_findings found;
};

static inline struct xp_thread_row thread(uint32_t tid, const char *name, uint64_t cpu_ms, uint64_t wait_ms)
{
	return (struct xp_thread_row){
		.tid = tid,
		.name = name,
		.name_pattern = name,
		.state = "S",
		.on_cpu_ns = cpu_ms * MS,
		.runqueue_ns = wait_ms * MS,
		.blocked_ns = (1000 - cpu_ms - wait_ms) * MS,
		.active = cpu_ms >= 10,
	};
}

/* One main thread that does a little: no rule has anything to say. */
static inline int set_up(void **state)
{
	const unsigned with = 1u << XP_SOURCE_THREADS | 1u << XP_SOURCE_CGROUP | 1u << XP_SOURCE_SYSCALLS;
	struct scene *s = calloc(1, sizeof(*s));

	s->arena = xp_arena_new();
	s->threads[0] = thread(MAIN, "main", 300, 0);
	s->time = (struct xp_thread_time){
		.count = 1, .active = 1, .threads = s->threads, .n_threads = 1, .cpus_allowed = "0-1", .n_cpus_allowed = 2
	};
	s->levels[0] = (struct xp_cgroup_level){ .path = "/job", .throttled_ns = XP_SOME(0), .throttled_periods = XP_SOME(0) };
	s->cgroup = (struct xp_cgroup){ .version = XP_CGROUP_V2, .path = "/job", .levels = s->levels, .n_levels = 1 };
	s->view = (struct xp_syscall_view){ .sums = s->sums, .uses = s->uses, .open = s->open };
	s->input = (struct xp_triage_input){ .target = { .pid = MAIN, .process_start_time = 8812345 },
					     .window_ns = 1000 * MS,
					     .threads = &s->time,
					     .cgroup = &s->cgroup,
					     .syscalls = &s->view };
	for (int id = 0; id < XP_SOURCE_COUNT; id++)
		s->input.sources[id] = with & 1u << id ? xp_source_available(id) : xp_source_unavailable(id, XP_REASON_ABSENT, NULL);
	s->found.arena = s->arena;
	*state = s;
	return 0;
}

static inline int tear_down(void **state)
{
	struct scene *s = *state;

	xp_arena_free(s->arena);
	free(s);
	return 0;
}

/* Runs the rules on the scene as it is now; the codes in rank order, separated by blanks. */
static inline const char *codes(struct scene *s)
{
	xp_auto_builder text = { 0 };

	s->found = (struct xp_findings){ .arena = s->arena };
	xp_rules_run(&s->input, &s->found);
	for (size_t i = 0; i < s->found.n; i++) {
		assert_int_equal(s->found.at[i]->rank, i + 1);
		assert_int_equal(s->found.at[i]->pid, MAIN);
		assert_non_null(s->found.at[i]->message);
		assert_non_null(s->found.at[i]->next);
		xp_text_fmt(&text, i ? " %s" : "%s", s->found.at[i]->code);
	}
	return xp_arena_str(s->arena, text.data ? text.data : "");
}

static inline double share(const struct scene *s, size_t i)
{
	assert_true(i < s->found.n && s->found.at[i]->window_share.set);
	return s->found.at[i]->window_share.v;
}

static inline const char *absorbed(const struct scene *s, size_t i)
{
	return json_string_value(json_object_get(json_array_get(json_object_get(s->found.at[i]->evidence, "absorbed"), 0), "code"));
}

#define SCENE_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

#endif
