/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that come, go, are blocked throughout, take turns, or are filtered by name. */
#include "syscalls_run.h"

static pid_t own_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

/* Threads of the child: `n` of them named `prefix`-<i> that make `calls` calls of getppid each. */
struct crew {
	const char *prefix;
	int n, calls;
};

struct worker {
	const struct crew *crew;
	int index;
};

static void *work(void *arg)
{
	const struct worker *worker = arg;
	char name[16];

	snprintf(name, sizeof(name), "%s-%d", worker->crew->prefix, worker->index);
	prctl(PR_SET_NAME, name);
	for (int i = 0; i < worker->crew->calls; i++)
		syscall(SYS_getppid);
	return NULL;
}

static void run_crew(const struct crew *crew)
{
	struct worker workers[64];
	pthread_t threads[64];

	for (int i = 0; i < crew->n; i++) {
		workers[i] = (struct worker){ crew, i };
		if (pthread_create(&threads[i], NULL, work, &workers[i]))
			_exit(1);
	}
	for (int i = 0; i < crew->n; i++)
		pthread_join(threads[i], NULL);
}

static void crew_body(struct shared *shared)
{
	run_crew(&(struct crew){ "worker", 31, 13 });
}

static const struct xp_syscall_threads *pattern_of(const struct run *run, const char *pattern)
{
	for (size_t i = 0; i < run->value->n_threads; i++)
		if (!strcmp(run->value->threads[i].name_pattern, pattern))
			return &run->value->threads[i];
	return NULL;
}

static void test_short_threads(void **state)
{
	const struct xp_inventory_request request = { 0 };
	struct run run;

	start(&run, NULL, crew_body);
	open_window(&run, &request);
	finish_window(&run);
	assert_int_equal(count_of(&run, SYS_getppid), 31 * 13);
	assert_int_equal(group_of(&run, SYS_getppid, false)->threads, 31);
	assert_int_equal(count_of(&run, SYS_prctl), 31);
	assert_int_equal(run.value->collection.no_return_calls, 31); /* exit of each thread */
	assert_int_equal(run.value->collection.unmatched_exits, 0);
	assert_int_equal(pattern_of(&run, "worker-#")->threads, 31);
	assert_true(pattern_of(&run, "worker-#")->calls >= 31 * 14);
	end(&run);
}

/* More threads than one ring of records holds, one after the other: nothing is lost and the table does not fill. */
static void churn_body(struct shared *shared)
{
	for (int i = 0; i < 71; i++)
		run_crew(&(struct crew){ "churn", 61, 3 });
}

static void test_churn(void **state)
{
	const struct xp_inventory_request request = { 0 };
	struct run run;

	start(&run, NULL, churn_body);
	open_window(&run, &request);
	finish_window(&run);
	assert_int_equal(count_of(&run, SYS_getppid), 71 * 61 * 3);
	assert_int_equal(group_of(&run, SYS_getppid, false)->threads, 71 * 61);
	assert_int_equal(run.value->collection.no_return_calls, 71 * 61);
	end(&run);
}

/* Without drains the ring of ended threads overflows: names are lost, not one call. */
static void test_lost_records(void **state)
{
	const struct xp_inventory_request request = { 0 };
	struct run run;

	start(&run, NULL, churn_body);
	open_window(&run, &request);
	WAIT_UNTIL(atomic_load(&run.shared->done));
	close_window(&run);
	assert_int_equal(count_of(&run, SYS_getppid), 71 * 61 * 3);
	assert_int_equal(run.value->collection.no_return_calls, 71 * 61);
	assert_true(pattern_of(&run, "*")->calls > 0);
	end(&run);
}

static struct shared *blocked_shared;

static void *block(void *arg)
{
	char c;

	prctl(PR_SET_NAME, "blocked-1");
	atomic_store(&blocked_shared->tid[0], own_tid());
	syscall(SYS_read, blocked_shared->pipe[0], &c, 1);
	atomic_store(&blocked_shared->step, 1);
	spin(&blocked_shared->finish);
	return NULL;
}

static void block_one(struct shared *shared)
{
	pthread_t thread;

	blocked_shared = shared;
	if (pthread_create(&thread, NULL, block, NULL))
		_exit(1);
}

static void one_call(struct shared *shared)
{
	syscall(SYS_getppid);
}

static void test_blocked_throughout(void **state)
{
	const struct xp_inventory_request request = { 0 };
	struct run run;

	start(&run, block_one, one_call);
	WAIT_UNTIL(inside(run.child, atomic_load(&run.shared->tid[0]), SYS_read));
	open_window(&run, &request);
	finish_window(&run);
	const struct xp_syscall_collection *c = &run.value->collection;
	assert_int_equal(c->observed_entries, 1);
	assert_int_equal(c->open_at_start, 1);
	assert_int_equal(c->open_at_start_still_open, 1);
	assert_int_equal(c->inflight_at_end, 1);
	assert_int_equal(c->completeness, XP_COMPLETE);
	assert_int_equal(run.value->n_open_at_end, 1);
	const struct xp_syscall_open *open = &run.value->open_at_end[0];
	assert_int_equal(open->tid, atomic_load(&run.shared->tid[0]));
	assert_string_equal(open->thread_name, "blocked-1");
	assert_string_equal(open->syscall_name, "read");
	assert_true(open->started_before_window);
	assert_int_equal(open->age_ns, c->window_ns);
	assert_int_equal(run.value->thread_calls[0].tid, open->tid);
	assert_int_equal(run.value->thread_calls[0].open_ns, c->window_ns);
	end(&run);
}

/* Open at the start, returned in the window: on neither side, and no riddle. */
static void test_released(void **state)
{
	const struct xp_inventory_request request = { 0 };
	struct run run;

	start(&run, block_one, one_call);
	WAIT_UNTIL(inside(run.child, atomic_load(&run.shared->tid[0]), SYS_read));
	open_window(&run, &request);
	assert_int_equal(write(run.shared->pipe[1], "x", 1), 1);
	WAIT_UNTIL(atomic_load(&run.shared->step));
	finish_window(&run);
	const struct xp_syscall_collection *c = &run.value->collection;
	assert_int_equal(c->observed_entries, 1);
	assert_int_equal(c->unmatched_exits, 0);
	assert_int_equal(c->open_at_start, 1);
	assert_int_equal(c->open_at_start_still_open, 0);
	assert_int_equal(c->inflight_at_end, 0);
	assert_null(group_of(&run, SYS_read, false));
	end(&run);
}

/* Entered in the window and hung: the list tells where, and since when. */
static void *block_later(void *arg)
{
	char c;

	atomic_store((atomic_int *)arg, own_tid());
	spin(&blocked_shared->go);
	syscall(SYS_read, blocked_shared->pipe[0], &c, 1);
	return NULL;
}

static void three_blockers(struct shared *shared)
{
	pthread_t thread;

	blocked_shared = shared;
	for (int i = 0; i < 3; i++)
		if (pthread_create(&thread, NULL, block_later, &shared->tid[i]))
			_exit(1);
}

static void idle(struct shared *shared)
{
	spin(&shared->step);
}

static void hang(struct run *run, const struct xp_inventory_request *request)
{
	start(run, three_blockers, idle);
	for (int i = 0; i < 3; i++)
		WAIT_UNTIL(atomic_load(&run->shared->tid[i]));
	open_window(run, request);
	for (int i = 0; i < 3; i++)
		WAIT_UNTIL(inside(run->child, atomic_load(&run->shared->tid[i]), SYS_read));
	atomic_store(&run->shared->step, 1);
	finish_window(run);
}

static void test_hung(void **state)
{
	const struct xp_inventory_request request = { 0 };
	struct run run;

	hang(&run, &request);
	assert_int_equal(run.value->collection.observed_entries, 3);
	assert_int_equal(run.value->collection.inflight_at_end, 3);
	assert_int_equal(run.value->n_open_at_end, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_false(run.value->open_at_end[i].started_before_window);
		assert_true(run.value->open_at_end[i].age_ns > 0 && run.value->open_at_end[i].age_ns < run.value->collection.window_ns);
		if (i)
			assert_true(run.value->open_at_end[i - 1].age_ns >= run.value->open_at_end[i].age_ns);
	}
	end(&run);
}

/* One thread inside a call at a time: the other two are dropped, and say so. */
static void test_inflight_capacity(void **state)
{
	const struct xp_inventory_request request = { .max_inflight = 1 };
	struct run run;

	hang(&run, &request);
	assert_int_equal(run.value->collection.observed_entries, 3);
	assert_int_equal(run.value->collection.inflight_at_end, 1);
	assert_int_equal(run.value->collection.dropped_aggregates, 2);
	assert_int_equal(run.value->collection.completeness, XP_INCOMPLETE);
	end(&run);
}

/* Taking turns, any number of threads fits into one slot. */
static void turns_body(struct shared *shared)
{
	for (int i = 0; i < 5; i++)
		syscall(SYS_getppid);
	atomic_store(&shared->step, 1);
}

static void test_inflight_turns(void **state)
{
	const struct xp_inventory_request request = { .max_inflight = 1 };
	struct run run;

	start(&run, NULL, turns_body);
	open_window(&run, &request);
	finish_window(&run);
	assert_int_equal(count_of(&run, SYS_getppid), 5);
	assert_int_equal(run.value->collection.dropped_aggregates, 0);
	end(&run);
}

static void two_crews(struct shared *shared)
{
	run_crew(&(struct crew){ "io", 3, 11 });
	run_crew(&(struct crew){ "cpu", 2, 7 });
}

static void name_me(struct shared *shared)
{
	prctl(PR_SET_NAME, "io-main");
}

static void test_filter(void **state)
{
	struct xp_inventory_request request = { .threads_pattern = "^io-\\d" };
	xp_auto(xp_regex_free) struct xp_regex *regex = NULL;
	xp_auto_err err = { 0 };
	struct run run;

	must(xp_regex_new("^io-(\\d|main)", &regex, &err), &err);
	request.threads = regex;
	start(&run, name_me, two_crews);
	open_window(&run, &request);
	finish_window(&run);
	assert_int_equal(count_of(&run, SYS_getppid), 3 * 11);
	assert_int_equal(run.value->collection.no_return_calls, 3);
	assert_true(run.value->collection.sources[0].filtered >= 2 * 8);
	assert_null(pattern_of(&run, "cpu-#"));
	assert_int_equal(pattern_of(&run, "io-#")->threads, 3);
	assert_string_equal(run.value->quality.issues[0].code, "threads_filtered");
	end(&run);
}

static void test_filter_without_match(void **state)
{
	struct xp_inventory_request request = { .threads_pattern = "^nobody$" };
	xp_auto(xp_regex_free) struct xp_regex *regex = NULL;
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	xp_auto(xp_target_close) struct xp_target *target = NULL;
	xp_auto_err err = { 0 };
	void *opened;

	must(xp_regex_new("^nobody$", &regex, &err), &err);
	request.threads = regex;
	must(xp_target_open((uint32_t)getpid(), NULL, &target, &err), &err);
	assert_int_equal(xp_inventory_syscalls.open(&request, target, arena, &opened, &err), -XP_E_INVALID_EVENT_SELECTOR);
	assert_int_equal(json_array_size(json_object_get(err.details, "candidates")), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_threads),	     cmocka_unit_test(test_churn),	    cmocka_unit_test(test_lost_records),
		cmocka_unit_test(test_blocked_throughout),   cmocka_unit_test(test_released),	    cmocka_unit_test(test_hung),
		cmocka_unit_test(test_inflight_capacity),    cmocka_unit_test(test_inflight_turns), cmocka_unit_test(test_filter),
		cmocka_unit_test(test_filter_without_match),
	};
	int skipped = skip_reason();

	return skipped ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
