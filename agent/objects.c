/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader's list of objects, never gone through while the program forks: the lock of that list stays taken for ever in a child that was
 * made meanwhile, and its first dlopen, exception or backtrace would hang. In: a visitor. State: xp_agent.objects.
 */
#include "agent/agent.h"

enum { MOST_WAIT_MS = 100 };

/* fork waits until nobody of ours is in the list; whoever comes later sees it and waits for fork. */
static void before_fork(void)
{
	if (!xp_agent_is_live())
		return;
	__atomic_fetch_add(&xp_agent.objects.forks, 1, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < MOST_WAIT_MS && __atomic_load_n(&xp_agent.objects.inside, __ATOMIC_SEQ_CST); i++)
		xp_agent_sleep_ms(1);
}

/* Handlers that were registered in the middle of a fork may have missed its beginning. */
static void after_fork(void)
{
	uint32_t forks = __atomic_load_n(&xp_agent.objects.forks, __ATOMIC_SEQ_CST);

	while (xp_agent_is_live() && forks &&
	       !__atomic_compare_exchange_n(&xp_agent.objects.forks, &forks, forks - 1, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
}

void xp_agent_objects_guard(void)
{
	pthread_atfork(before_fork, after_fork, NULL);
}

int xp_agent_objects(xp_agent_object_fn *look, void *arg)
{
	struct objects *objects = &xp_agent.objects;
	int rc;

	for (unsigned i = 0;; i++) {
		__atomic_fetch_add(&objects->inside, 1, __ATOMIC_SEQ_CST);
		if (!__atomic_load_n(&objects->forks, __ATOMIC_SEQ_CST) || i == MOST_WAIT_MS)
			break;
		__atomic_fetch_sub(&objects->inside, 1, __ATOMIC_SEQ_CST);
		xp_agent_sleep_ms(1);
	}
	rc = dl_iterate_phdr(look, arg);
	__atomic_fetch_sub(&objects->inside, 1, __ATOMIC_SEQ_CST);
	return rc;
}
