// SPDX-License-Identifier: Apache-2.0
/* Recorded inputs -> findings: each rule above its bound, just below it, and absorbed; ranking. */
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

static struct xp_thread_row thread(uint32_t tid, const char *name, uint64_t cpu_ms, uint64_t wait_ms)
{
	return (struct xp_thread_row){
		.tid = tid, .name = name, .name_pattern = name, .state = "S", .wall_ns = 1000 * MS,
		.on_cpu_ns = cpu_ms * MS, .runqueue_ns = wait_ms * MS, .blocked_ns = (1000 - cpu_ms - wait_ms) * MS, .active = cpu_ms >= 10,
	};
}

/* One main thread that does a little: no rule has anything to say. */
static int set_up(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	s->arena = xp_arena_new();
	s->threads[0] = thread(MAIN, "main", 300, 0);
	s->time = (struct xp_thread_time){ .window_ns = 1000 * MS, .count = 1, .active = 1, .threads = s->threads, .n_threads = 1,
					   .cpus_allowed = "0-1", .n_cpus_allowed = 2, .process_cpu_ns = XP_SOME(300 * MS) };
	s->levels[0] = (struct xp_cgroup_level){ .path = "/job", .quota_us = XP_SOME(20000), .period_us = XP_SOME(100000), .cpus = XP_SOME(0.2),
						 .throttled_ns = XP_SOME(0), .throttled_periods = XP_SOME(0), .periods = XP_SOME(10) };
	s->cgroup = (struct xp_cgroup){ .version = XP_CGROUP_V2, .path = "/job", .levels = s->levels, .n_levels = 1 };
	s->view = (struct xp_syscall_view){ .sums = s->sums, .uses = s->uses, .open = s->open };
	s->input = (struct xp_triage_input){ .target = { .pid = MAIN, .process_start_time = 8812345 }, .window_ns = 1000 * MS,
					     .threads = &s->time, .cgroup = &s->cgroup, .syscalls = &s->view };
	for (int id = 0; id < XP_SOURCE_COUNT; id++)
		s->input.sources[id] = xp_source_unavailable(id, XP_REASON_ABSENT, NULL);
	s->input.sources[XP_SOURCE_THREADS] = xp_source_available(XP_SOURCE_THREADS);
	s->input.sources[XP_SOURCE_CGROUP] = xp_source_available(XP_SOURCE_CGROUP);
	s->input.sources[XP_SOURCE_SYSCALLS] = xp_source_available(XP_SOURCE_SYSCALLS);
	s->found.arena = s->arena;
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	xp_arena_free(s->arena);
	free(s);
	return 0;
}

/* Runs the rules on the scene as it is now; the codes in rank order, separated by blanks. */
static const char *codes(struct scene *s)
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

static double share(const struct scene *s, size_t i)
{
	assert_true(i < s->found.n && s->found.at[i]->window_share.set);
	return s->found.at[i]->window_share.v;
}

static const char *absorbed(const struct scene *s, size_t i)
{
	return json_string_value(json_object_get(json_array_get(json_object_get(s->found.at[i]->evidence, "absorbed"), 0), "code"));
}

static void nothing_to_say(void **state)
{
	assert_string_equal(codes(*state), "");
}

static void every_rule_has_its_own_place(void **state)
{
	size_t n;
	const struct xp_rule *const *rules = xp_rules(&n);

	assert_int_equal(n, 11);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++) {
			assert_true(strcmp(rules[j]->code, rules[i]->code) < 0);
			assert_int_not_equal(rules[j]->order, rules[i]->order);
		}
}

static void throttled(void **state)
{
	struct scene *s = *state;

	s->threads[0] = thread(MAIN, "main", 200, 780);
	s->levels[0].throttled_ns.v = 800 * MS;
	assert_string_equal(codes(s), ""); /* no throttled period */
	s->levels[0].throttled_periods.v = 8;
	assert_string_equal(codes(s), "cgroup_throttled");
	assert_true(share(s, 0) == 0.78); /* no longer than the longest wait of a thread */
	assert_string_equal(absorbed(s, 0), "runqueue_wait");
	assert_string_equal(((const struct xp_next_action *)s->found.at[0]->next)->code, "raise_cpu_quota");
	assert_string_equal(((const struct xp_next_action *)s->found.at[0]->next)->object, "/job/cpu.max");
	s->threads[0] = thread(MAIN, "main", 200, 19);
	assert_string_equal(codes(s), "");
	s->threads[0] = thread(MAIN, "main", 200, 20);
	assert_string_equal(codes(s), "cgroup_throttled");
	assert_null(absorbed(s, 0));
}

static void throttled_and_waiting_are_booked_once(void **state)
{
	struct scene *s = *state;

	s->threads[0] = thread(MAIN, "main", 200, 700);
	s->levels[0].throttled_ns.v = 400 * MS;
	s->levels[0].throttled_periods.v = 5;
	assert_string_equal(codes(s), "cgroup_throttled runqueue_wait");
	assert_true(share(s, 0) == 0.4);
	assert_true(share(s, 1) == 0.3);
}

static void runqueue(void **state)
{
	struct scene *s = *state;

	s->threads[0] = thread(MAIN, "main", 300, 49);
	assert_string_equal(codes(s), "");
	s->threads[0] = thread(MAIN, "main", 500, 480);
	s->threads[0].cpus_allowed = "1";
	assert_string_equal(codes(s), "runqueue_wait");
	assert_true(share(s, 0) == 0.48);
	json_t *evidence = s->found.at[0]->evidence;

	assert_string_equal(json_string_value(json_object_get(evidence, "cpus_allowed")), "1");
	assert_int_equal(json_integer_value(json_object_get(evidence, "cpus_allowed_count")), 1);
	assert_int_equal(json_array_size(json_object_get(evidence, "runnable_threads")), 1);
	s->input.cgroup = NULL;
	s->input.sources[XP_SOURCE_CGROUP] = xp_source_unavailable(XP_SOURCE_CGROUP, XP_REASON_ABSENT, NULL);
	assert_string_equal(codes(s), "runqueue_wait"); /* works without the group's numbers */
}

static void cpu_bound(void **state)
{
	struct scene *s = *state;

	s->threads[0] = thread(MAIN, "spin", 899, 0);
	assert_string_equal(codes(s), "");
	s->threads[0] = thread(MAIN, "spin", 900, 0);
	s->threads[1] = thread(73, "spin", 950, 0);
	s->time.n_threads = 2;
	assert_string_equal(codes(s), "cpu_bound_thread"); /* one a name pattern */
	assert_int_equal(json_integer_value(json_object_get(s->found.at[0]->evidence, "threads_alike")), 2);
	assert_null(((const struct xp_next_action *)s->found.at[0]->next)->command);
	s->input.can_sample = true;
	codes(s);
	assert_string_equal(((const struct xp_next_action *)s->found.at[0]->next)->command[4], "--cpu-sample");
}

static void add_call(struct scene *s, uint32_t tid, const char *name, uint64_t calls, uint64_t total_ms)
{
	s->sums[s->view.n_sums++] = (struct xp_call_sum){ .name = name, .calls = calls, .total_ns = total_ms * MS };
	s->uses[s->view.n_uses++] = (struct xp_call_use){ .tid = tid, .thread_name = "main", .name = name, .calls = calls, .total_ns = total_ms * MS };
}

static void blocked_in_a_syscall(void **state)
{
	struct scene *s = *state;

	add_call(s, MAIN, "fsync", 31, 49);
	assert_string_equal(codes(s), "");
	s->uses[0].total_ns = 440 * MS;
	assert_string_equal(codes(s), "syscall_blocked");
	assert_string_equal(s->found.at[0]->subject, "fsync");
	assert_true(share(s, 0) == 0.44);
	assert_int_equal(s->found.at[0]->confidence, XP_MEASURED);
	const struct xp_next_spec *next = s->found.at[0]->next;

	assert_int_equal(next->kind, XP_NEXT_SPEC);
	assert_false(next->target_mutation);
	assert_string_equal(next->spec->name, "triage_fsync");
	assert_string_equal(next->spec->start_selector, "syscall:fsync:entry");
	assert_string_equal(next->spec->end_selector, "syscall:fsync:exit");
	assert_int_equal(next->spec->match_policy, XP_POLICY_EXACT);
	assert_int_equal(next->spec->samples.v, 100);
	assert_int_equal(next->spec->timeout_ms, 13000);
	assert_int_equal(next->spec->target.process_start_time, 8812345);
	/* CPU work inside a call is not blocking. */
	s->threads[0] = thread(MAIN, "main", 940, 0);
	assert_string_equal(codes(s), "cpu_bound_thread syscall_blocked");
	assert_true(share(s, 1) == 0.06);
	assert_int_equal(s->found.at[1]->confidence, XP_ESTIMATED);
	/* A thread that is not active does not count. */
	s->threads[0] = thread(MAIN, "main", 300, 0);
	s->threads[0].active = false;
	assert_string_equal(codes(s), "");
}

static void waiting_calls_speak_only_alone(void **state)
{
	struct scene *s = *state;

	s->threads[0] = thread(MAIN, "pool", 40, 0);
	add_call(s, MAIN, "epoll_wait", 10, 900);
	assert_string_equal(codes(s), "syscall_blocked");
	add_call(s, MAIN, "fsync", 10, 200);
	assert_string_equal(codes(s), "syscall_blocked syscall_blocked"); /* 0.20 is not above 0.20 */
	s->uses[1].total_ns = 210 * MS;
	assert_string_equal(codes(s), "syscall_blocked");
	assert_string_equal(s->found.at[0]->subject, "fsync");
	/* The same call in a thread that works is a finding of its own. */
	s->threads[0] = thread(MAIN, "busy", 50, 0);
	assert_string_equal(codes(s), "syscall_blocked syscall_blocked");
}

static void three_syscalls_at_most(void **state)
{
	struct scene *s = *state;

	add_call(s, MAIN, "fsync", 10, 100);
	add_call(s, MAIN, "read", 10, 110);
	add_call(s, MAIN, "write", 10, 120);
	add_call(s, MAIN, "openat", 10, 130);
	assert_string_equal(codes(s), "syscall_blocked syscall_blocked syscall_blocked");
	assert_string_equal(s->found.at[2]->subject, "read");
}

static void syscall_storm(void **state)
{
	struct scene *s = *state;

	s->threads[0] = thread(MAIN, "main", 990, 0);
	add_call(s, MAIN, "getppid", 19999, 100);
	assert_string_equal(codes(s), "cpu_bound_thread");
	s->sums[0].calls = 20000;
	s->sums[0].total_ns = 200 * MS; /* mean 10 us: not below */
	assert_string_equal(codes(s), "cpu_bound_thread");
	s->sums[0].total_ns = 200 * MS - 1;
	assert_string_equal(codes(s), "syscall_rate");
	assert_string_equal(absorbed(s, 0), "cpu_bound_thread");
	assert_true(share(s, 0) == 0.1); /* of the busiest thread */
	assert_int_equal(((const struct xp_next_spec *)s->found.at[0]->next)->spec->max_events.v, 11000);
}

static void failing_calls(void **state)
{
	struct scene *s = *state;

	add_call(s, MAIN, "openat", 99, 40);
	s->sums[0].errors = 99;
	assert_string_equal(codes(s), "");
	s->sums[0].calls = 101;
	s->sums[0].errors = 50;
	assert_string_equal(codes(s), "");
	s->sums[0].errors = 101;
	s->sums[0].top_errno = "ENOENT";
	assert_string_equal(codes(s), "syscall_errors");
	assert_true(fabs(share(s, 0) - 0.04) < 1e-12);
	s->sums[0].again = 51; /* EAGAIN is no failure */
	assert_string_equal(codes(s), "");
}

static void blocked_for_the_whole_window(void **state)
{
	struct scene *s = *state;

	s->threads[0] = thread(MAIN, "hung", 0, 0);
	s->threads[0].syscall_number = (struct xp_opt_u32)XP_SOME(202);
	s->threads[0].wait_channel = "futex_wait_queue";
	s->time.active = 0;
	s->open[0] = (struct xp_view_open){ .tid = MAIN, .thread_name = "hung", .name = "futex", .age_ns = 1000 * MS, .started_before_window = true };
	s->view.n_open = 1;
	assert_string_equal(codes(s), "fully_blocked");
	assert_true(share(s, 0) == 1);
	assert_non_null(strstr(s->found.at[0]->message, "futex"));
	json_t *calls = json_object_get(s->found.at[0]->evidence, "oldest_open_syscalls");

	assert_string_equal(json_string_value(json_object_get(json_array_get(calls, 0), "syscall_name")), "futex");
	/* Without the syscall inventory /proc still tells where it sits. */
	s->input.syscalls = NULL;
	s->input.sources[XP_SOURCE_SYSCALLS] = xp_source_unavailable(XP_SOURCE_SYSCALLS, XP_REASON_ABSENT, NULL);
	assert_string_equal(codes(s), "fully_blocked");
	assert_non_null(strstr(s->found.at[0]->message, "futex"));
	s->threads[0].state = "T";
	codes(s);
	assert_non_null(strstr(s->found.at[0]->message, "stopped by a signal"));
	/* A thread that waits for a CPU is not blocked. */
	s->threads[0] = thread(MAIN, "starved", 5, 900);
	assert_string_equal(codes(s), "runqueue_wait");
}

static void children_work(void **state)
{
	struct scene *s = *state;
	struct xp_child_row child = { .pid = 79, .parent_pid = MAIN, .name = "cc1", .on_cpu_ns = 500 * MS };

	s->threads[0] = thread(MAIN, "make", 0, 0);
	s->time.active = 0;
	s->time.children = &child;
	s->time.n_children = s->time.children_total = 1;
	s->time.children_cpu_ns = 499 * MS;
	assert_string_equal(codes(s), "fully_blocked");
	s->time.children_cpu_ns = 500 * MS;
	assert_string_equal(codes(s), "busy_children");
	assert_string_equal(absorbed(s, 0), "fully_blocked");
	assert_string_equal(((const struct xp_next_action *)s->found.at[0]->next)->code, "triage_tree");
	s->input.tree = true;
	assert_string_equal(codes(s), "fully_blocked");
	s->input.tree = false;
	s->threads[0] = thread(MAIN, "make", 701, 0);
	s->time.active = 1;
	assert_string_equal(codes(s), "");
}

static void churn(void **state)
{
	struct scene *s = *state;

	s->time.vanished_cpu_ns = 99 * MS;
	assert_string_equal(codes(s), "");
	s->time.vanished_cpu_ns = 100 * MS;
	s->time.started = 13;
	assert_string_equal(codes(s), "thread_churn");
	assert_non_null(strstr(s->found.at[0]->message, "at least 13 threads"));
	add_call(s, MAIN, "clone3", 503, 1);
	codes(s);
	assert_non_null(strstr(s->found.at[0]->message, "503 threads"));
	s->time.vanished_cpu_ns = 2500 * MS;
	codes(s);
	assert_true(share(s, 0) == 1);
}

static void faults(void **state)
{
	struct scene *s = *state;

	s->time.major_faults = 99;
	assert_string_equal(codes(s), "");
	s->time.major_faults = 100;
	assert_string_equal(codes(s), "major_faults");
	assert_false(s->found.at[0]->window_share.set);
}

static void missing_rights(void **state)
{
	struct scene *s = *state;
	struct xp_triage_source *source = &s->input.sources[XP_SOURCE_SYSCALLS];

	*source = xp_source_unavailable(XP_SOURCE_SYSCALLS, XP_REASON_NOT_PERMITTED, "refused");
	source->call = "bpf(BPF_PROG_LOAD)";
	source->unblock = "give xprobe CAP_BPF and CAP_PERFMON";
	s->input.syscalls = NULL;
	s->threads[0] = thread(MAIN, "spin", 990, 0);
	assert_string_equal(codes(s), "cpu_bound_thread grant_right"); /* nulls last */
	assert_string_equal(s->found.at[1]->subject, "syscalls");
	assert_string_equal(((const struct xp_next_action *)s->found.at[1]->next)->message, source->unblock);
}

static void ranking_is_total(void **state)
{
	struct scene *s = *state;
	struct xp_findings *list = &s->found;

	xp_finding_add(list, "b", "x", -1, NULL);
	xp_finding_add(list, "b", "y", 0.5, NULL);
	xp_finding_add(list, "a", "z", 0.5, NULL);
	xp_finding_add(list, "b", "x", 0.5, NULL);
	xp_finding_add(list, "c", "x", 1.7, NULL);
	xp_findings_rank(list);
	assert_string_equal(list->at[0]->code, "c");
	assert_true(list->at[0]->window_share.v == 1);
	assert_string_equal(list->at[1]->code, "a");
	assert_string_equal(list->at[2]->subject, "x");
	assert_string_equal(list->at[3]->subject, "y");
	assert_false(list->at[4]->window_share.set);
}

#define SCENE_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(nothing_to_say), cmocka_unit_test(every_rule_has_its_own_place), SCENE_TEST(throttled),
		SCENE_TEST(throttled_and_waiting_are_booked_once), SCENE_TEST(runqueue), SCENE_TEST(cpu_bound), SCENE_TEST(blocked_in_a_syscall),
		SCENE_TEST(waiting_calls_speak_only_alone), SCENE_TEST(three_syscalls_at_most), SCENE_TEST(syscall_storm), SCENE_TEST(failing_calls),
		SCENE_TEST(blocked_for_the_whole_window), SCENE_TEST(children_work), SCENE_TEST(churn), SCENE_TEST(faults),
		SCENE_TEST(missing_rights), SCENE_TEST(ranking_is_total),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
