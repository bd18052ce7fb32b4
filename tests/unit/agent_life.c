/* SPDX-License-Identifier: Apache-2.0 */
/* The real agent in a program with the fake CUDA: refusals, lease, deadline, forks, exec, exit, repeated captures, aggregates. */
#include "agent_app.h"

#include <dirent.h>

static int refusal(struct app *app)
{
	xp_auto_err err = { 0 };

	return try_arm(app, &err);
}

static bool idle_within(struct app *app, unsigned ms)
{
	for (unsigned i = 0; i < ms; i++) {
		if (xp_agent_link_state(app->link) == XP_AGENT_IDLE)
			return true;
		usleep(1000);
	}
	return false;
}

static void what_cannot_work_is_refused_by_name(void **state)
{
	struct app app;
	xp_auto_err err = { 0 };

	/* Without a copy in the process and without a path there is nothing to load. */
	spawn(&app, 13);
	assert_int_equal(tell(&app, "agent " AGENT), 0);
	connect_agent(&app);
	want_kernels(&app);
	assert_int_equal(refusal(&app), -XP_E_CUPTI_NOT_AVAILABLE);
	/* With the path the same agent works. */
	snprintf(app.request.cupti_path, sizeof(app.request.cupti_path), FAKE "13/libcupti.so.13");
	arm(&app);
	tell(&app, "launch 1 3 k 10");
	stop(&app);
	assert_int_equal(app.of_kind[XP_CAPTURE_KERNEL_START], 3);
	assert_string_equal(xp_agent_link_cupti_path(app.link), FAKE "13/libcupti.so.13");
	app.request.capacity = 12345;
	assert_int_equal(refusal(&app), -XP_E_INTERNAL);
	end_app(&app);

	start_app(&app, 13);
	tell(&app, "set busy 1");
	want_kernels(&app);
	assert_int_equal(try_arm(&app, &err), -XP_E_CUPTI_BUSY);
	assert_string_equal(json_string_value(json_object_get(err.details, "holder")), "CUPTI for fake holder");
	assert_string_equal(err.call, "cuptiSubscribe");
	tell(&app, "set busy 0");
	arm(&app);
	stop(&app);
	end_app(&app);
}

static void two_tools(void **state)
{
	struct app app;
	struct xp_agent_link *second;
	xp_auto_err err = { 0 };

	start_app(&app, 13);
	want_kernels(&app);
	arm(&app);
	assert_int_equal(xp_agent_link_open(app.target, &second, &err), 0);
	assert_int_equal(xp_agent_link_acquire(second, "second", &err), -XP_E_TARGET_BUSY);
	assert_string_equal(json_string_value(json_object_get(err.details, "holder")), "test");
	stop(&app);
	/* Nobody renews: after a second the lease is nobody's. */
	usleep(1100000);
	assert_int_equal(xp_agent_link_acquire(second, "second", &err), 0);
	xp_agent_link_close(second);
	end_app(&app);
}

/* The tool dies: nothing renews. The agent is idle again within 2.5 s, and the next capture is whole. */
static void a_lost_lease_ends_the_capture(void **state)
{
	struct app app;
	uint64_t from_ns;

	start_app(&app, 13);
	want_kernels(&app);
	arm(&app);
	assert_int_equal(tell(&app, "loop 4 50"), 0);
	from_ns = now_ns();
	assert_true(idle_within(&app, 2500));
	assert_true(now_ns() - from_ns > 900000000ull);
	app.n = 0;
	arm(&app);
	usleep(60000);
	stop(&app);
	assert_true(tell(&app, "end") > app.counters.api_launches);
	assert_int_equal(app.of_kind[XP_CAPTURE_KERNEL_START], app.of_kind[XP_CAPTURE_KERNEL_END]);
	assert_true(app.counters.launch_unknown <= 4);
	check_books(&app);
	end_app(&app);
}

static void the_deadline_ends_the_capture(void **state)
{
	struct app app;

	start_app(&app, 13);
	want_kernels(&app);
	app.request.deadline_ns = 200000000;
	arm(&app);
	for (unsigned i = 0; i < 60; i++) {
		drain(&app);
		usleep(10000);
	}
	assert_int_equal(xp_agent_link_state(app.link), XP_AGENT_IDLE);
	end_app(&app);
}

/* A subscription that does not get through: the tool gives up, the agent undoes it as soon as it does. */
static void a_starved_arm_is_undone(void **state)
{
	struct app app;

	start_app(&app, 13);
	tell(&app, "set subscribe_ms 700");
	want_kernels(&app);
	app.request = (struct xp_agent_request){ .mode = XP_AGENT_EXACT,
						 .capacity = 64,
						 .deadline_ns = 1000000000,
						 .n_filters = 1,
						 .filters[0].kind = XP_CAPTURE_KERNEL_START };
	assert_int_equal(xp_agent_link_acquire(app.link, "test", &(struct xp_err){ 0 }), 0);
	xp_agent_link_send(app.link, XP_AGENT_ARM, &app.request);
	assert_false(wait_answer(&app, 100));
	assert_int_equal(xp_agent_link_state(app.link), XP_AGENT_ARMING);
	xp_agent_link_cancel(app.link);
	assert_true(wait_answer(&app, 3000));
	xp_auto_err err = { 0 };
	assert_int_equal(xp_agent_link_result(app.link, &err), -XP_E_SESSION_LIMIT_EXCEEDED);
	assert_int_equal(xp_agent_link_state(app.link), XP_AGENT_IDLE);
	tell(&app, "set subscribe_ms 0");
	tell(&app, "get sessions");
	arm(&app); /* would be refused while the first one is subscribed */
	stop(&app);
	end_app(&app);
}

/* The child's calls reach no callback of ours, its copy is no agent, and the parent's capture is whole. */
static void forked_children_are_left_alone(void **state)
{
	struct app app;

	start_app(&app, 13);
	want_kernels(&app);
	arm(&app);
	assert_int_equal(tell(&app, "launch 2 101 k 10"), 0);
	assert_int_equal(tell(&app, "fork"), 0);
	assert_int_equal(tell(&app, "launch 2 103 k 10"), 0);
	stop(&app);
	assert_int_equal(app.of_kind[XP_CAPTURE_KERNEL_START], 2 * 101 + 2 * 103);
	assert_int_equal(app.counters.api_launches, 2 * 101 + 2 * 103);
	end_app(&app);
}

static void exit_during_a_capture(void **state)
{
	struct app app;

	start_app(&app, 13);
	want_kernels(&app);
	arm(&app);
	tell(&app, "launch 4 251 k 10");
	usleep(120000);
	begin(&app, "exit");
	usleep(100000);
	drain(&app);
	/* What was written before the end is still there. */
	assert_int_equal(app.of_kind[XP_CAPTURE_KERNEL_START], 1004);
	assert_int_equal(xp_agent_link_state(app.link), XP_AGENT_GONE);
	end_app(&app);
}

static void exec_during_a_capture(void **state)
{
	struct app app;
	xp_auto_err err = { 0 };
	struct xp_agent_link *again;

	start_app(&app, 13);
	want_kernels(&app);
	arm(&app);
	tell(&app, "launch 1 211 k 10");
	usleep(120000);
	begin(&app, "exec /bin/sleep");
	usleep(200000);
	drain(&app);
	assert_int_equal(app.of_kind[XP_CAPTURE_KERNEL_START], 211);
	/* Same process, same start time, but no agent any more. */
	assert_int_equal(xp_agent_link_open(app.target, &again, &err), -XP_E_CUPTI_AGENT_NOT_LOADED);
	kill(app.pid, SIGKILL);
	waitpid(app.pid, NULL, 0);
	xp_agent_link_close(app.link);
	xp_target_close(app.target);
	fclose(app.to);
	fclose(app.from);
	free(app.records);
}

/* Fast captures under load with calls that outlive them: every stop clean, no id twice, nothing freed under a late call. */
static void captures_again_and_again(void **state)
{
	struct app app;

	start_app(&app, 13);
	want_kernels(&app);
	want(&app, XP_CAPTURE_API_ENTRY, XP_AGENT_MATCH_LAUNCH, NULL);
	tell(&app, "set late_us 20");
	tell(&app, "loop 8 30");
	for (unsigned i = 0; i < 40; i++) {
		arm(&app);
		usleep(4000);
		stop(&app);
		check_books(&app);
		assert_int_equal(app.counters.duplicate_ids, 0);
		/* At most a call a thread that was under way when the callbacks went on. */
		assert_true(app.counters.launch_unknown <= 8);
		assert_int_equal(app.counters.in_flight, 0);
		assert_int_equal(app.of_kind[XP_CAPTURE_KERNEL_START], app.of_kind[XP_CAPTURE_KERNEL_END]);
	}
	tell(&app, "end");
	assert_int_equal(tell(&app, "get sessions"), 40);
	assert_int_equal(tell(&app, "get freed_early"), 0);
	end_app(&app);
}

static void a_dead_collection_shows(void **state)
{
	struct app app;

	start_app(&app, 13);
	want_kernels(&app);
	app.request.wait_ms = 50;
	tell(&app, "set dead 1");
	arm(&app);
	tell(&app, "launch 1 97 k 10");
	stop(&app);
	assert_int_equal(app.counters.api_launches, 97);
	assert_int_equal(app.counters.activities_seen, 0);
	assert_int_equal(app.counters.in_flight, 97);
	assert_true(app.counters.first_launch_ns != 0);
	end_app(&app);
}

static void ids_used_twice_show(void **state)
{
	struct app app;

	start_app(&app, 13);
	want_kernels(&app);
	app.request.wait_ms = 50;
	tell(&app, "set same_id 5");
	arm(&app);
	tell(&app, "launch 1 7 k 10");
	stop(&app);
	assert_int_equal(app.counters.duplicate_ids, 6);
	end_app(&app);
}

/* A kernel that outlives the stop: its time is lost to the forced flush, and it is told as running, not as an invalid time. */
static void kernels_still_running_at_the_stop(void **state)
{
	struct app app;

	start_app(&app, 13);
	want_kernels(&app);
	app.request.wait_ms = 60;
	arm(&app);
	tell(&app, "launch 3 1 endless 3000000000");
	tell(&app, "launch 1 13 k 10");
	stop(&app);
	assert_int_equal(app.counters.in_flight, 3 + 1 * 13);
	assert_int_equal(app.counters.invalid_times, 0);
	end_app(&app);
}

/* A call that is open at the stop has no exit, and its exit in the next capture is nobody's. */
static void a_call_that_outlives_its_capture(void **state)
{
	struct app app;

	start_app(&app, 13);
	want(&app, XP_CAPTURE_API_ENTRY, XP_AGENT_MATCH_EXACT, "cudaDeviceSynchronize");
	want(&app, XP_CAPTURE_API_EXIT, XP_AGENT_MATCH_EXACT, "cudaDeviceSynchronize");
	arm(&app);
	begin(&app, "sync 300");
	usleep(50000);
	stop(&app);
	assert_int_equal(app.of_kind[XP_CAPTURE_API_ENTRY], 1);
	assert_int_equal(app.of_kind[XP_CAPTURE_API_EXIT], 0);
	arm(&app);
	assert_int_equal(answer(&app), 0);
	tell(&app, "sync 1");
	stop(&app);
	assert_int_equal(app.of_kind[XP_CAPTURE_API_ENTRY], 1);
	assert_int_equal(app.of_kind[XP_CAPTURE_API_EXIT], 1);
	assert_int_equal(app.counters.late_exits, 1);
	end_app(&app);
}

/* Where another client holds CUPTI, activities can be had without a subscription; launches are not seen then. */
static void records_without_a_subscription(void **state)
{
	struct app app;

	start_app(&app, 13);
	tell(&app, "set busy 1");
	want_kernels(&app);
	app.request.flags = XP_AGENT_RECORDS_ONLY;
	arm(&app);
	tell(&app, "launch 3 101 k 10");
	stop(&app);
	assert_int_equal(app.of_kind[XP_CAPTURE_KERNEL_START], 303);
	assert_int_equal(app.counters.callbacks, 0);
	assert_int_equal(app.counters.launch_unknown, 0);
	assert_int_equal(tell(&app, "get sessions"), 0);
	end_app(&app);
}

/* The wall clock is set by an hour in the middle of a capture. */
static void clock_steps(void **state)
{
	struct app app;
	uint64_t from_ns;

	start_app(&app, 13);
	want(&app, XP_CAPTURE_KERNEL_START, XP_AGENT_MATCH_ANY, NULL);
	arm(&app);
	from_ns = now_ns();
	tell(&app, "launch 1 11 k 10");
	for (unsigned i = 0; i < 15; i++)
		drain(&app), usleep(10000);
	tell(&app, "set clock_step_ns 3600000000000");
	for (unsigned i = 0; i < 15; i++)
		drain(&app), usleep(10000);
	tell(&app, "launch 1 13 k 10");
	stop(&app);
	assert_int_equal(app.counters.clock_steps, 1);
	assert_int_equal(app.n, 24);
	for (unsigned i = 0; i < app.n; i++)
		assert_true(app.records[i].event.t_ns > from_ns && app.records[i].event.t_ns < now_ns());
	end_app(&app);
}

static void sums_by_group(void **state)
{
	struct app app;
	const struct xp_capture_aggregate_5 *groups;
	uint64_t count = 0, ns = 0, bytes = 0, graph = 0;
	uint32_t n;

	start_app(&app, 13);
	want(&app, XP_CAPTURE_KERNEL_START, XP_AGENT_MATCH_ANY, NULL);
	want(&app, XP_CAPTURE_MEMCPY_START, XP_AGENT_MATCH_ANY, NULL);
	want(&app, XP_CAPTURE_MEMSET_START, XP_AGENT_MATCH_ANY, NULL);
	app.request.mode = XP_AGENT_AGGREGATE;
	app.request.capacity = 16;
	arm(&app);
	tell(&app, "launch 8 127 one 700");
	tell(&app, "launch 3 31 two 5000");
	tell(&app, "memcpy 1 1 3 1000 17");
	tell(&app, "memcpy 1 2 3 1000 19");
	tell(&app, "memset 23");
	tell(&app, "graph 3 5");
	stop(&app);
	groups = xp_agent_link_groups(app.link, &n);
	assert_int_equal(n, 6);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t in_buckets = 0;

		for (unsigned b = 0; b < 40; b++)
			in_buckets += groups[i].buckets[b];
		assert_int_equal(in_buckets, groups[i].count);
		count += groups[i].count;
		graph += groups[i].in_graph;
		if (groups[i].kind == XP_CAPTURE_KERNEL_START)
			ns += groups[i].total_ns;
		bytes += groups[i].bytes;
		if (groups[i].kind == XP_CAPTURE_MEMCPY_START && groups[i].src_memory == 2)
			assert_int_equal(groups[i].count, 19);
	}
	assert_int_equal(count, 8 * 127 + 3 * 31 + 17 + 19 + 23 + 15);
	assert_int_equal(app.counters.activities_grouped, count);
	assert_int_equal(ns, 8 * 127 * 700 + 3 * 31 * 5000 + 15 * 1000);
	assert_int_equal(bytes, 36 * 1000 + 23 * 1024);
	assert_int_equal(graph, 15);

	/* A table of two places: what finds none is counted. */
	app.request.capacity = 2;
	arm(&app);
	tell(&app, "launch 1 5 one 700");
	tell(&app, "launch 1 7 two 700");
	tell(&app, "launch 1 11 three 700");
	stop(&app);
	xp_agent_link_groups(app.link, &n);
	assert_int_equal(n, 2);
	assert_int_equal(app.counters.activities_grouped + app.counters.activities_ungrouped, 23);
	assert_true(app.counters.activities_ungrouped >= 5);
	end_app(&app);
}

/* Idle means: one thread blocked without a timeout, no subscription. */
static void idle_is_idle(void **state)
{
	struct app app;
	char path[64], text[256];
	unsigned threads = 0;
	DIR *tasks;
	FILE *file;

	start_app(&app, 13);
	snprintf(path, sizeof(path), "/proc/%d/task", app.pid);
	tasks = opendir(path);
	for (const struct dirent *entry = readdir(tasks); entry; entry = readdir(tasks))
		threads += entry->d_name[0] != '.';
	closedir(tasks);
	assert_int_equal(threads, 2);
	usleep(20000);
	snprintf(path, sizeof(path), "/proc/%d/task/%u/syscall", app.pid, xp_agent_link_identity(app.link).agent_tid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	/* futex(word, FUTEX_WAIT, answered, no timeout) */
	assert_true(!strncmp(text, "202 ", 4) && strstr(text, " 0x0 0x0 0x0 "));
	assert_int_equal(tell(&app, "get sessions"), 0);
	end_app(&app);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_work_is_refused_by_name),
		cmocka_unit_test(two_tools),
		cmocka_unit_test(a_lost_lease_ends_the_capture),
		cmocka_unit_test(the_deadline_ends_the_capture),
		cmocka_unit_test(a_starved_arm_is_undone),
		cmocka_unit_test(forked_children_are_left_alone),
		cmocka_unit_test(exit_during_a_capture),
		cmocka_unit_test(exec_during_a_capture),
		cmocka_unit_test(captures_again_and_again),
		cmocka_unit_test(a_dead_collection_shows),
		cmocka_unit_test(ids_used_twice_show),
		cmocka_unit_test(kernels_still_running_at_the_stop),
		cmocka_unit_test(a_call_that_outlives_its_capture),
		cmocka_unit_test(records_without_a_subscription),
		cmocka_unit_test(clock_steps),
		cmocka_unit_test(sums_by_group),
		cmocka_unit_test(idle_is_idle),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
