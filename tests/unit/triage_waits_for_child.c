// SPDX-License-Identifier: Apache-2.0
/* A parent and its descendants -> waits_for_child: at the bounds and below, what it waits in, who is no worker, whose next step it is. */
#include "triage_scene.h"

enum { WORKER = 83, HELPER = 89 };

/* A descendant with one thread, and what it found about itself. */
struct child {
	struct xp_thread_row row;
	struct xp_thread_time time;
	struct xp_triage_input input;
	struct xp_off_cpu_use use;
	struct xp_off_cpu_value off_cpu;
	struct xp_findings found;
};

struct family {
	struct scene *scene;
	struct child child[2];
	struct xp_triage_relative relatives[2];
	struct xp_off_cpu_use use;
	struct xp_off_cpu_value off_cpu;
};

static void birth(struct family *f, size_t i, uint32_t pid, uint64_t cpu_ms)
{
	struct child *child = &f->child[i];

	child->row = thread(pid, "worker", cpu_ms, 0);
	child->time = (struct xp_thread_time){ .count = 1, .active = child->row.active, .threads = &child->row, .n_threads = 1 };
	child->input = (struct xp_triage_input){ .target.pid = pid, .window_ns = 1000 * MS, .threads = &child->time, .several = true };
	f->relatives[i] = (struct xp_triage_relative){ .input = &child->input };
	f->scene->input.n_descendants = i + 1;
}

/* The main thread blocked in `call`. */
static void wait_in(struct family *f, const char *call, uint64_t blocked_ms)
{
	struct scene *s = f->scene;

	s->threads[0] = thread(MAIN, "main", 1000 - blocked_ms, 0);
	s->time.active = s->threads[0].active;
	f->use = (struct xp_off_cpu_use){
		.tid = MAIN, .thread_name = "main", .syscall_name = call, .count = 7, .total_ns = blocked_ms * MS
	};
	f->off_cpu = (struct xp_off_cpu_value){ .uses = &f->use, .n_uses = 1 };
	s->input.off_cpu = &f->off_cpu;
	s->input.sources[XP_SOURCE_OFF_CPU] = xp_source_available(XP_SOURCE_OFF_CPU);
}

static void block_child(struct family *f, const char *call, uint64_t blocked_ms, bool active)
{
	struct child *child = &f->child[0];

	birth(f, 0, WORKER, 0);
	child->row.active = active;
	child->use = (struct xp_off_cpu_use){ .tid = WORKER, .thread_name = "worker", .syscall_name = call, .total_ns = blocked_ms * MS };
	child->off_cpu = (struct xp_off_cpu_value){ .uses = &child->use, .n_uses = 1 };
	child->input.off_cpu = &child->off_cpu;
}

static struct family *family_of(void **state)
{
	struct scene *s = *state;
	struct family *f = xp_arena_new_of(s->arena, struct family);

	f->scene = s;
	s->input.several = true;
	s->input.descendants = f->relatives;
	birth(f, 0, WORKER, 900);
	return f;
}

static const json_t *told(const struct scene *s, const char *key)
{
	return json_object_get(s->found.at[0]->evidence, key);
}

static void bounds(void **state)
{
	struct family *f = family_of(state);
	struct scene *s = f->scene;

	wait_in(f, "read", 300);
	birth(f, 0, WORKER, 600);
	assert_string_equal(codes(s), "waits_for_child");
	assert_true(share(s, 0) == 0.3);
	wait_in(f, "read", 299);
	assert_string_equal(codes(s), "");
	wait_in(f, "read", 300);
	birth(f, 0, WORKER, 599);
	assert_string_equal(codes(s), "");
	f->child[0].row.runqueue_ns = 1 * MS; /* would run if it got a CPU */
	assert_string_equal(codes(s), "waits_for_child");
	s->input.n_descendants = 0;
	birth(f, 0, WORKER, 600);
	s->input.n_descendants = 0;
	assert_string_equal(codes(s), "");
}

/* A pool hands the work from one child to the next: none of them is busy for long, all of them together are. */
static void children_together(void **state)
{
	struct family *f = family_of(state);
	struct scene *s = f->scene;

	wait_in(f, "futex", 900);
	birth(f, 0, WORKER, 270);
	birth(f, 1, WORKER + 1, 329);
	assert_string_equal(codes(s), "");
	birth(f, 1, WORKER + 1, 330);
	assert_string_equal(codes(s), "waits_for_child");
	assert_int_equal(json_integer_value(told(s, "child_pid")), WORKER + 1);
	assert_int_equal(json_integer_value(told(s, "children_alike")), 2);
}

static void evidence_names_both_and_the_means(void **state)
{
	static const struct {
		const char *call, *means;
	} rows[] = { { "read", "pipe" }, { "recvfrom", "socket" }, { "futex", "futex" }, { "wait4", "wait4" }, { "epoll_wait", "poll" } };
	struct family *f = family_of(state);
	struct scene *s = f->scene;

	for (size_t i = 0; i < XP_LEN(rows); i++) {
		wait_in(f, rows[i].call, 800);
		assert_string_equal(codes(s), "waits_for_child");
		assert_string_equal(json_string_value(told(s, "waits_in")), rows[i].means);
		assert_string_equal(json_string_value(told(s, "syscall_name")), rows[i].call);
		assert_int_equal(json_integer_value(told(s, "pid")), MAIN);
		assert_int_equal(json_integer_value(told(s, "child_pid")), WORKER);
		assert_int_equal(json_integer_value(told(s, "child_on_cpu_ns")), 900 * MS);
		assert_int_equal(json_integer_value(told(s, "blocked_ns")), 800 * MS);
	}
	/* Sleeping and disks have nothing to do with a child. */
	wait_in(f, "clock_nanosleep", 800);
	assert_string_equal(codes(s), "");
	wait_in(f, "fsync", 800);
	assert_string_equal(codes(s), "");
}

static void takes_what_the_parent_would_say(void **state)
{
	struct family *f = family_of(state);
	struct scene *s = f->scene;

	wait_in(f, "read", 800);
	s->uses[0] = (struct xp_call_use){ .tid = MAIN, .thread_name = "main", .name = "read", .calls = 7, .total_ns = 800 * MS };
	s->view.n_uses = 1;
	assert_string_equal(codes(s), "waits_for_child");
	assert_string_equal(absorbed(s, 0), "syscall_blocked");
	wait_in(f, "wait4", 1000);
	s->view.n_uses = 0;
	assert_string_equal(codes(s), "waits_for_child");
	assert_string_equal(absorbed(s, 0), "fully_blocked");
}

static void next_is_the_childs_best(void **state)
{
	struct family *f = family_of(state);
	struct scene *s = f->scene;
	struct xp_findings list = { .arena = s->arena };
	struct xp_finding *best = xp_finding_add(&list, "cpu_hotspot", "crunch", 0.9, NULL);

	xp_next_action(&list, best, "collect_cpu_samples", NULL, NULL, "sample it");
	xp_finding_say(&list, best, "thread worker spent about 900 ms of 1000 ms in crunch");
	f->relatives[0].best = best;
	wait_in(f, "read", 800);
	codes(s);
	assert_ptr_equal(s->found.at[0]->next, best->next);
	assert_string_equal(json_string_value(json_object_get(told(s, "child_finding"), "subject")), "crunch");
	assert_string_equal(s->found.at[0]->message,
			    "thread main was blocked for 800 ms of 1000 ms in read while process 83 (worker) ran or could run "
			    "for 900 ms: thread worker spent about 900 ms of 1000 ms in crunch");
	/* Where the parent waits, too. */
	const struct xp_frame line = {
		.symbol = "next_batch", .source_path = "/srv/train.py", .line = XP_SOME(12), .kind = XP_FRAME_PYTHON
	};
	const struct xp_frame *const frames[] = { &line };
	struct xp_off_cpu_group group = {
		.thread_name_pattern = "main", .syscall_name = "read", .frames = frames, .n_frames = 1, .total_ns = 800 * MS
	};
	f->off_cpu.groups = &group;
	f->off_cpu.n_groups = 1;
	codes(s);
	assert_non_null(strstr(s->found.at[0]->message, "in read, called from next_batch (train.py:12) while process 83"));
	f->off_cpu.n_groups = 0;
	f->relatives[0].best = NULL;
	f->child[0].input.can_sample = true;
	codes(s);
	assert_string_equal(((const struct xp_next_action *)s->found.at[0]->next)->command[3], "83");
}

static void the_one_that_runs_longest_is_named(void **state)
{
	struct family *f = family_of(state);
	struct scene *s = f->scene;

	birth(f, 0, WORKER, 700);
	birth(f, 1, HELPER, 950);
	wait_in(f, "poll", 800);
	codes(s);
	assert_int_equal(json_integer_value(told(s, "child_pid")), HELPER);
	assert_int_equal(json_integer_value(told(s, "children_alike")), 2);
}

static void an_idle_worker_holds_nobody_up(void **state)
{
	struct family *f = family_of(state);
	struct scene *s = f->scene;

	/* It waits for its parent to give it something to do. */
	wait_in(f, "recvfrom", 800);
	block_child(f, "read", 1000, false);
	assert_string_equal(codes(s), "");
	block_child(f, "futex", 1000, true);
	assert_string_equal(codes(s), "");
	/* A disk or a peer is work that is not done. */
	block_child(f, "fsync", 600, true);
	assert_string_equal(codes(s), "waits_for_child");
	assert_string_equal(json_string_value(told(s, "child_syscall_name")), "fsync");
	block_child(f, "fsync", 599, true);
	assert_string_equal(codes(s), "");
	block_child(f, "recvfrom", 900, true);
	assert_string_equal(codes(s), "waits_for_child");
	block_child(f, "read", 900, false);
	f->child[0].row.state = "D";
	assert_string_equal(codes(s), "waits_for_child");
	/* Who waits for a child's end waits whatever the child does. */
	wait_in(f, "wait4", 1000);
	block_child(f, "futex", 1000, false);
	assert_string_equal(codes(s), "waits_for_child");
	assert_string_equal(json_string_value(told(s, "child_syscall_name")), "futex");
}

static void the_leading_thread_is_judged(void **state)
{
	struct family *f = family_of(state);
	struct scene *s = f->scene;

	/* The main thread only waits for the others to end; the one that works does not wait. */
	wait_in(f, "futex", 1000);
	s->threads[1] = thread(73, "trainer", 850, 0);
	s->time.n_threads = 2;
	s->time.active = 1;
	assert_string_equal(codes(s), "");
	/* It works and waits. */
	s->threads[1] = thread(73, "trainer", 300, 0);
	assert_string_equal(codes(s), "waits_for_child");
	assert_string_equal(s->found.at[0]->subject, "trainer");
	assert_true(share(s, 0) == 0.7);
	/* The main thread takes part: of the two that wait the one that waits longer. */
	s->threads[0] = thread(MAIN, "main", 100, 0);
	codes(s);
	assert_string_equal(s->found.at[0]->subject, "main");
}

static void without_blocked_stacks_calls_tell(void **state)
{
	struct family *f = family_of(state);
	struct scene *s = f->scene;

	s->threads[0] = thread(MAIN, "main", 200, 0);
	s->uses[0] = (struct xp_call_use){ .tid = MAIN, .thread_name = "main", .name = "read", .calls = 7, .total_ns = 790 * MS };
	s->view.n_uses = 1;
	assert_string_equal(codes(s), "waits_for_child");
	assert_string_equal(json_string_value(told(s, "waits_in")), "pipe");
	s->input.syscalls = NULL;
	s->input.sources[XP_SOURCE_SYSCALLS] = xp_source_unavailable(XP_SOURCE_SYSCALLS, XP_REASON_ABSENT, NULL);
	assert_string_equal(codes(s), "waits_for_child");
	assert_true(json_is_null(told(s, "waits_in")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(bounds),
		SCENE_TEST(children_together),
		SCENE_TEST(evidence_names_both_and_the_means),
		SCENE_TEST(takes_what_the_parent_would_say),
		SCENE_TEST(next_is_the_childs_best),
		SCENE_TEST(the_one_that_runs_longest_is_named),
		SCENE_TEST(an_idle_worker_holds_nobody_up),
		SCENE_TEST(the_leading_thread_is_judged),
		SCENE_TEST(without_blocked_stacks_calls_tell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
