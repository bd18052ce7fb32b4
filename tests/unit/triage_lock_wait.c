// SPDX-License-Identifier: Apache-2.0
/* Recorded waits for a lock -> what it is held for; who never gets it is not idle. */
#include "triage_scene_stacks.h"

/* What the lock is held for: the code that takes it, where it does not wait for it. */
static void lock_and_work(void **state)
{
	struct scene *s = *state;
	struct recorded *r = record(s);

	blocks(s, r, MAIN, "futex", "__lll_lock_wait@/usr/lib/libc.so.6 < pthread_mutex_lock@/usr/lib/libc.so.6 < append(int)@/srv/app",
	       600);
	says(s, "syscall_blocked", "in futex, called from append");
	says_not(s, "beside waiting");
	runs(s, r, "do_fsync@k < fsync@/usr/lib/libc.so.6 < append(int)@/srv/app", 4);
	says_not(s, "beside waiting"); /* 40 ms are too little to say */
	runs(s, r, "append(int)@/srv/app", 3);
	runs(s, r, "native_lock@k < __lll_lock_wait@/usr/lib/libc.so.6 < append(int)@/srv/app", 50); /* is waiting itself */
	says(s, "syscall_blocked", "which took about 70 ms of all threads beside waiting, mostly in fsync");
	json_t *work = json_object_get(s->found.at[0]->evidence, "beside_waiting");
	assert_int_equal(json_integer_value(json_object_get(work, "total_ns")), 70 * MS);
	r->groups[1].samples = 5;
	says(s, "syscall_blocked", "mostly itself");
}

/* A thread that never got its lock is not idle; what the others waited in beside it would go unsaid. */
static void starved_at_a_lock(void **state)
{
	struct scene *s = *state;
	struct recorded *r = record(s);

	s->threads[0] = thread(MAIN, "main", 0, 0);
	s->threads[1] = thread(MAIN + 1, "worker", 20, 0);
	s->time.n_threads = 2;
	blocks(s, r, MAIN, "futex", "pthread_rwlock_wrlock@/usr/lib/libc.so.6 < apply@/srv/app", 1000);
	s->sums[0].calls = s->uses[0].calls = 0; /* still open */
	blocks(s, r, MAIN + 1, "poll", "poll@/usr/lib/libc.so.6 < lookup@/srv/app", 980);
	says(s, "syscall_blocked",
	     "in futex, called from apply; meanwhile thread worker spent 980 ms of 1000 ms in poll, called from lookup");
	assert_int_equal(s->found.n, 1);
	assert_string_equal(absorbed(s, 0), "syscall_blocked");
	assert_string_equal(((const struct xp_next_action *)s->found.at[0]->next)->code, "collect_off_cpu"); /* no pair would come */
	s->sums[0].calls = s->uses[0].calls = 1;
	codes(s);
	assert_int_equal(((const struct xp_next_spec *)s->found.at[0]->next)->kind, XP_NEXT_SPEC);
	/* No lock: a thread without work. */
	r->blocks[0].frames = stack_of(s->arena, "pthread_cond_wait@/usr/lib/libc.so.6 < worker@/srv/app", &r->blocks[0].n_frames);
	assert_string_equal(codes(s), "syscall_blocked");
	assert_string_equal(s->found.at[0]->subject, "poll");
	/* Nobody works: the process hangs, and that is told once. */
	r->blocks[0].frames = stack_of(s->arena, "pthread_rwlock_wrlock@/usr/lib/libc.so.6 < apply@/srv/app", &r->blocks[0].n_frames);
	s->threads[1].active = false;
	s->time.active = 0;
	assert_string_equal(codes(s), "fully_blocked");
}

int main(void)
{
	const struct CMUnitTest tests[] = { SCENE_TEST(lock_and_work), SCENE_TEST(starved_at_a_lock) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
