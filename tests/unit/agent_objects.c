/* SPDX-License-Identifier: Apache-2.0 */
/* Fault: a child that the program forked while the agent was in the loader's list of objects hung in its first look at that list. */
#include "agent/objects.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct agent xp_agent;
static uint64_t live = AGENT_LIVE;
static int looks, ending;

void xp_agent_sleep_ms(unsigned ms)
{
	usleep(ms * 1000);
}

static int stay(struct dl_phdr_info *info, size_t size, void *arg)
{
	__atomic_fetch_add(&looks, 1, __ATOMIC_SEQ_CST);
	usleep(10000);
	return 1;
}

static int pass(struct dl_phdr_info *info, size_t size, void *arg)
{
	return 0;
}

static void *look_for_ever(void *arg)
{
	while (!__atomic_load_n(&ending, __ATOMIC_SEQ_CST)) {
		xp_agent_objects(stay, NULL);
		usleep(500);
	}
	return arg;
}

static void children_can_look_for_objects(void **state)
{
	pthread_t thread;

	xp_agent.live = &live;
	xp_agent_objects_guard();
	assert_int_equal(pthread_create(&thread, NULL, look_for_ever, NULL), 0);
	for (int i = 0; i < 31; i++) {
		int status, before = __atomic_load_n(&looks, __ATOMIC_SEQ_CST);
		pid_t child;

		while (__atomic_load_n(&looks, __ATOMIC_SEQ_CST) == before)
			usleep(200);
		child = fork();
		if (!child) {
			alarm(5);
			dl_iterate_phdr(pass, NULL);
			_exit(7);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 7);
	}
	__atomic_store_n(&ending, 1, __ATOMIC_SEQ_CST);
	pthread_join(thread, NULL);
	assert_int_equal(xp_agent.objects.forks, 0);
	assert_int_equal(xp_agent.objects.inside, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_can_look_for_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
