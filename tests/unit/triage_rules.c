// SPDX-License-Identifier: Apache-2.0
/* Recorded inputs -> findings of the thread and cgroup rules: above the bound, just below it, absorbed; ranking. */
#include "triage_scene.h"

static void nothing_to_say(void **state)
{
	assert_string_equal(codes(*state), "");
}

static void every_rule_has_its_own_place(void **state)
{
	size_t n;
	const struct xp_rule *const *rules = xp_rules(&n);

	assert_true(n >= 22);
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

static void blocked_for_the_whole_window(void **state)
{
	struct scene *s = *state;

	s->threads[0] = thread(MAIN, "hung", 0, 0);
	s->threads[0].syscall_number = (struct xp_opt_u32)XP_SOME(202);
	s->threads[0].wait_channel = "futex_wait_queue";
	s->time.active = 0;
	s->open[0] = (struct xp_view_open){
		.tid = MAIN, .thread_name = "hung", .name = "futex", .age_ns = 1000 * MS, .started_before_window = true
	};
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
	s->input.several = true;
	assert_string_equal(codes(s), "fully_blocked");
	s->input.several = false;
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
	s->sums[0] = (struct xp_call_sum){ .name = "clone3", .calls = 503 };
	s->view.n_sums = 1;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(nothing_to_say),
		cmocka_unit_test(every_rule_has_its_own_place),
		SCENE_TEST(throttled),
		SCENE_TEST(throttled_and_waiting_are_booked_once),
		SCENE_TEST(runqueue),
		SCENE_TEST(cpu_bound),
		SCENE_TEST(blocked_for_the_whole_window),
		SCENE_TEST(children_work),
		SCENE_TEST(churn),
		SCENE_TEST(faults),
		SCENE_TEST(missing_rights),
		SCENE_TEST(ranking_is_total),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
