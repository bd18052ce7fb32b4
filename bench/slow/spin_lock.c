// SPDX-License-Identifier: Apache-2.0
/* Slow because a thread spins for a lock in user space that another one keeps while it sleeps. */
#include <stdatomic.h>

#include "slow.h"

static atomic_flag taken = ATOMIC_FLAG_INIT;

static NOINLINE void acquire_spin_lock(void)
{
	while (atomic_flag_test_and_set_explicit(&taken, memory_order_acquire))
		__builtin_ia32_pause();
}

static void release_spin_lock(void)
{
	atomic_flag_clear_explicit(&taken, memory_order_release);
}

static void *refresh(void *arg)
{
	for (;;) {
		acquire_spin_lock();
		pause_us(10000);
		release_spin_lock();
		pause_us(100);
	}
	return arg;
}

int main(void)
{
	pthread_t other;

	pthread_create(&other, NULL, refresh, NULL);
	ready();
	for (uint64_t i = 0;; i++) {
		acquire_spin_lock();
		grind(i, 5000);
		release_spin_lock();
		grind(i, 20000);
	}
}
