/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded blocked stacks -> findings: the interpreter's lock is a finding of its own, a blocked call shows its stack and Python line. */
#include "triage_scene.h"

#include "triage/blocked.h"

struct waits {
	struct xp_frame frames[4];
	const struct xp_frame *stack[4];
	struct xp_off_cpu_group groups[4];
	struct xp_off_cpu_use uses[4];
	struct xp_off_cpu_value value;
};

/* futex <- take_gil <- load (job.py:12) <- main */
static struct waits *with_waits(struct scene *s)
{
	struct waits *w = xp_arena_new_of(s->arena, struct waits);

	w->frames[0] = (struct xp_frame){ .symbol = "futex_wait", .kind = XP_FRAME_NATIVE };
	w->frames[1] = (struct xp_frame){ .module_path = "/usr/bin/python3.11", .file_offset = XP_SOME(0x1f0), .kind = XP_FRAME_NATIVE };
	w->frames[2] = (struct xp_frame){ .symbol = "load", .source_path = "/srv/job.py", .line = XP_SOME(12), .kind = XP_FRAME_PYTHON };
	w->frames[3] = (struct xp_frame){ .symbol = "main", .kind = XP_FRAME_NATIVE };
	for (int i = 0; i < 4; i++) {
		w->stack[i] = &w->frames[i];
		w->groups[i] = (struct xp_off_cpu_group){ .thread_name_pattern = "main",
							  .reason = XP_REASON_LOCK,
							  .syscall_name = "futex",
							  .frames = w->stack,
							  .n_frames = 4,
							  .count = 7 };
	}
	w->value = (struct xp_off_cpu_value){ .groups = w->groups, .n_groups = 2, .uses = w->uses, .n_uses = 1, .blocks_total = 14 };
	s->input.off_cpu = &w->value;
	s->input.sources[XP_SOURCE_OFF_CPU] = xp_source_available(XP_SOURCE_OFF_CPU);
	return w;
}

static void set_use(struct waits *w, int i, const char *call, uint64_t total_ms, uint64_t lock_ms)
{
	w->groups[i].interpreter_lock = lock_ms > 0;
	w->groups[i].total_ns = total_ms * MS;
	w->uses[i] = (struct xp_off_cpu_use){ .tid = MAIN,
					      .thread_name = "main",
					      .syscall_name = call,
					      .reason = XP_REASON_LOCK,
					      .count = 7,
					      .total_ns = total_ms * MS,
					      .lock_ns = lock_ms * MS,
					      .longest = lock_ms ? NULL : &w->groups[i],
					      .lock = lock_ms ? &w->groups[i] : NULL };
}

static void add_call(struct scene *s, const char *name, uint64_t total_ms)
{
	s->sums[s->view.n_sums++] = (struct xp_call_sum){ .name = name, .calls = 7, .total_ns = total_ms * MS };
	s->uses[s->view.n_uses++] =
		(struct xp_call_use){ .tid = MAIN, .thread_name = "main", .name = name, .calls = 7, .total_ns = total_ms * MS };
}

static void waits_for_the_interpreter(void **state)
{
	struct scene *s = *state;
	struct waits *w = with_waits(s);

	s->threads[1] = thread(MAIN + 1, "holder", 600, 0);
	s->time.n_threads = 2;
	add_call(s, "futex", 450);
	set_use(w, 0, "futex", 440, 99);
	assert_string_equal(codes(s), "syscall_blocked"); /* 0.099, and the rest of the futex is no lock of the interpreter */
	assert_true(share(s, 0) > 0.3409 && share(s, 0) < 0.3411);
	set_use(w, 0, "futex", 440, 440);
	assert_string_equal(codes(s), "python_gil"); /* and nothing is left for the futex */
	assert_true(share(s, 0) == 0.44);
	assert_string_equal(absorbed(s, 0), "syscall_blocked");
	json_t *evidence = s->found.at[0]->evidence, *holding = json_object_get(evidence, "holding");

	assert_int_equal(json_array_size(json_object_get(evidence, "waiting")), 1);
	assert_int_equal(json_array_size(holding), 1);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(holding, 0), "tid")), MAIN + 1);
	assert_string_equal(json_string_value(json_object_get(json_object_get(evidence, "python_line"), "function")), "load");
	assert_string_equal(((const struct xp_next_action *)s->found.at[0]->next)->code, "collect_off_cpu");
	s->threads[0].active = false;
	assert_string_equal(codes(s), "");
}

static void a_blocked_call_shows_where(void **state)
{
	struct scene *s = *state;
	struct waits *w = with_waits(s);

	add_call(s, "read", 700); /* of it 500 blocked: the rest is work inside the call */
	set_use(w, 0, "read", 500, 0);
	assert_string_equal(codes(s), "syscall_blocked");
	assert_true(share(s, 0) == 0.5);
	assert_int_equal(s->found.at[0]->confidence, XP_MEASURED);
	json_t *evidence = s->found.at[0]->evidence, *stack = json_object_get(evidence, "stack"),
	       *line = json_object_get(evidence, "python_line");

	assert_int_equal(json_array_size(stack), 4);
	assert_string_equal(json_string_value(json_array_get(stack, 1)), "python3.11+0x1f0");
	assert_string_equal(json_string_value(json_array_get(stack, 2)), "load (job.py:12)");
	assert_string_equal(json_string_value(json_object_get(line, "source_path")), "/srv/job.py");
	assert_int_equal(json_integer_value(json_object_get(line, "line")), 12);
	assert_true(json_real_value(json_object_get(line, "share")) == 1);
	set_use(w, 0, "read", 49, 0);
	assert_string_equal(codes(s), "");
}

/* A line of the standard library waits for the program's own. */
static void the_line_is_the_programs(void **state)
{
	struct scene *s = *state;
	struct waits *w = with_waits(s);
	json_t *line;

	w->frames[1] = (struct xp_frame){ .symbol = "readinto", .source_path = "/usr/lib/python3.11/socket.py", .kind = XP_FRAME_PYTHON };
	line = xp_blocked_python_line(&w->groups[0], 1);
	assert_string_equal(json_string_value(json_object_get(line, "function")), "load");
	json_decref(line);
	w->frames[2].source_path = "/srv/venv/lib/python3.11/site-packages/job.py";
	line = xp_blocked_python_line(&w->groups[0], 1);
	assert_string_equal(json_string_value(json_object_get(line, "function")), "load");
	json_decref(line);
	w->frames[2].source_path = "<frozen runpy>";
	line = xp_blocked_python_line(&w->groups[0], 1);
	assert_string_equal(json_string_value(json_object_get(line, "function")), "readinto");
	json_decref(line);
}

static void locks_by_their_functions(void **state)
{
	static const char *const locks[] = { "__lll_lock_wait", "___pthread_mutex_lock", "__pthread_rwlock_rdlock_full64",
					     "std::sys::sync::mutex::futex::Mutex::lock_contended", "PyThread_acquire_lock_timed" };
	static const char *const others[] = { "___pthread_cond_wait", "__new_sem_wait_slow64.constprop.0", "epoll_wait" };
	struct waits *w = with_waits(*state);

	assert_false(xp_blocked_at_lock(NULL));
	for (size_t i = 0; i < XP_LEN(locks); i++) {
		w->frames[1].symbol = locks[i];
		assert_true(xp_blocked_at_lock(&w->groups[0]));
	}
	w->frames[2].source_path = "/usr/lib/python3.11/threading.py"; /* a condition, an event, a join */
	assert_false(xp_blocked_at_lock(&w->groups[0]));
	for (size_t i = 0; i < XP_LEN(others); i++) {
		w->frames[1].symbol = others[i];
		assert_false(xp_blocked_at_lock(&w->groups[0]));
	}
}

/* Threads that stand before a lock are no idle pool, however little they run. */
static void a_lock_is_no_idle_wait(void **state)
{
	struct scene *s = *state;
	struct waits *w = with_waits(s);

	s->threads[0] = thread(MAIN, "main", 20, 0);
	add_call(s, "futex", 900);
	set_use(w, 0, "futex", 900, 0);
	assert_string_equal(codes(s), "syscall_blocked");
	assert_true(json_is_true(json_object_get(s->found.at[0]->evidence, "waiting_call")));
	w->frames[0].symbol = "__lll_lock_wait";
	assert_string_equal(codes(s), "syscall_blocked");
	assert_false(json_is_true(json_object_get(s->found.at[0]->evidence, "waiting_call")));
}

/* Who waits for another thread says less than that one's call, when it took about as long. */
static void a_futex_blames_another_thread(void **state)
{
	struct scene *s = *state;
	struct waits *w = with_waits(s);

	s->threads[0] = thread(MAIN, "main", 20, 0);
	s->threads[1] = thread(MAIN + 1, "worker", 20, 0);
	s->time.n_threads = 2;
	add_call(s, "futex", 960);
	add_call(s, "poll", 719);
	s->uses[1].tid = MAIN + 1;
	set_use(w, 0, "futex", 960, 0);
	set_use(w, 1, "poll", 719, 0);
	w->uses[1].tid = MAIN + 1;
	w->value.n_uses = 2;
	assert_string_equal(codes(s), "syscall_blocked syscall_blocked");
	w->uses[1].total_ns = 720 * MS;
	assert_string_equal(codes(s), "syscall_blocked");
	assert_string_equal(s->found.at[0]->subject, "poll");
	assert_string_equal(absorbed(s, 0), "syscall_blocked");
	w->uses[1].tid = s->uses[1].tid = MAIN; /* the same thread does both, one after the other */
	assert_string_equal(codes(s), "syscall_blocked syscall_blocked");
}

/* Waits for pages from a disk are time outside of calls. */
static void major_faults_hold_up(void **state)
{
	struct scene *s = *state;
	struct waits *w = with_waits(s);

	s->threads[0].major_faults = s->time.major_faults = 4001;
	set_use(w, 0, NULL, 310, 0);
	w->uses[0].reason = XP_REASON_PAGE_FAULT;
	assert_string_equal(codes(s), "major_faults");
	assert_true(share(s, 0) == 0.31);
	w->uses[0].reason = XP_REASON_IO;
	codes(s);
	assert_true(share(s, 0) == 0);
}

static void a_hung_process_shows_its_stacks(void **state)
{
	struct scene *s = *state;
	struct waits *w = with_waits(s);

	s->threads[0] = thread(MAIN, "main", 0, 0);
	s->time.active = 0;
	set_use(w, 0, "futex", 1000, 0);
	w->groups[0].wait_channel = "futex_wait_queue";
	w->groups[0].open_at_end = 7;
	assert_string_equal(codes(s), "fully_blocked");
	json_t *stacks = json_object_get(s->found.at[0]->evidence, "blocked_stacks"), *first = json_array_get(stacks, 0);

	assert_int_equal(json_array_size(stacks), 2);
	assert_string_equal(json_string_value(json_object_get(first, "reason")), "lock");
	assert_string_equal(json_string_value(json_object_get(first, "wait_channel")), "futex_wait_queue");
	assert_int_equal(json_integer_value(json_object_get(first, "open_at_end")), 7);
	assert_int_equal(json_array_size(json_object_get(first, "stack")), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(waits_for_the_interpreter),	     SCENE_TEST(a_blocked_call_shows_where),
		SCENE_TEST(a_hung_process_shows_its_stacks), SCENE_TEST(the_line_is_the_programs),
		SCENE_TEST(locks_by_their_functions),	     SCENE_TEST(a_lock_is_no_idle_wait),
		SCENE_TEST(a_futex_blames_another_thread),   SCENE_TEST(major_faults_hold_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
