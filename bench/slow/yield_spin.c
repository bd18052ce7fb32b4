// SPDX-License-Identifier: Apache-2.0
/* Slow because its threads spin with sched_yield for a flag that one of them sets late. */
#include <sched.h>
#include <stdatomic.h>

#include "slow.h"

static _Atomic unsigned turn;

static void *wait_turn(void *arg)
{
	unsigned mine = (unsigned)(uintptr_t)arg;

	for (;;) {
		while (atomic_load(&turn) % 2 != mine)
			sched_yield();
		pause_us(2000);
		atomic_fetch_add(&turn, 1);
	}
	return arg;
}

int main(void)
{
	pthread_t threads[2];

	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, wait_turn, (void *)i);
	ready();
	pthread_join(threads[0], NULL);
}
