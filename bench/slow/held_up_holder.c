// SPDX-License-Identifier: Apache-2.0
/* Priority inversion: a thread of low priority holds the lock that the server needs, and gets no CPU beside those that compress. */
#include <sched.h>
#include <sys/resource.h>

#include "slow.h"

static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE uint64_t clean_cache(uint64_t i)
{
	return grind(i, 300000);
}

static void *clean(void *arg)
{
	setpriority(PRIO_PROCESS, 0, 19); /* of this thread alone on Linux */
	for (uint64_t i = 0;; i++) {
		pthread_mutex_lock(&cache);
		clean_cache(i);
		pthread_mutex_unlock(&cache);
		pause_us(500);
	}
	return arg;
}

static void *compress(void *arg)
{
	for (uint64_t i = 0;; i++)
		grind(i, 300000);
	return arg;
}

int main(void)
{
	pthread_t threads[3];
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	pthread_create(&threads[0], NULL, clean, NULL);
	for (unsigned i = 1; i < 3; i++)
		pthread_create(&threads[i], NULL, compress, NULL);
	ready();
	for (uint64_t i = 0;; i++) {
		pthread_mutex_lock(&cache);
		grind(i, 10000);
		pthread_mutex_unlock(&cache);
		pause_us(200);
	}
}
