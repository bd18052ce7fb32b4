// SPDX-License-Identifier: Apache-2.0
/* Slow because it spins with sched_yield until a timer thread says that the next batch may go. */
#include <sched.h>
#include <stdatomic.h>

#include "slow.h"

static _Atomic unsigned batch;

static void *tick(void *arg)
{
	for (;;) {
		pause_us(5000);
		atomic_fetch_add(&batch, 1);
	}
	return arg;
}

int main(void)
{
	pthread_t timer;

	pthread_create(&timer, NULL, tick, NULL);
	ready();
	for (unsigned next = 1;; next++) {
		while (atomic_load(&batch) < next)
			sched_yield();
		grind(next, 20000);
	}
}
