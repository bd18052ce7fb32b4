// SPDX-License-Identifier: Apache-2.0
/* Functions with known shares of CPU time: 60, 30 and 10 %, by the thread's own clock. Argument: threads (default 0: the first one works);
 * "born": threads of 100 ms each, one behind the other. Says "ready". */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

static volatile uint64_t sink;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* A loop of its own in each, so that nothing is shared but the clock. Lengths are no multiple of a sampling period. */
#define WORK(name, share)                                         \
	__attribute__((noinline)) static void name(uint64_t *end) \
	{                                                         \
		*end += (share)*69997;                            \
		while (now() < *end)                              \
			for (int i = 0; i < 3000; i++)            \
				sink += (uint64_t)i * (share);    \
	}
WORK(sixty, 60)
WORK(thirty, 30)
WORK(ten, 10)

__attribute__((noinline)) static void cycle(uint64_t *end)
{
	sixty(end);
	thirty(end);
	ten(end);
	sink++; /* no tail call: it stays on the stack of all three */
}

static void *work(void *limit)
{
	uint64_t end = now(), last = limit ? end + *(uint64_t *)limit : UINT64_MAX;

	while (end < last)
		cycle(&end);
	return NULL;
}

static void *worker(void *number)
{
	char name[16];

	snprintf(name, sizeof(name), "worker-%d", (int)(intptr_t)number);
	prctl(PR_SET_NAME, name);
	return work(NULL);
}

static void *newborn(void *unused)
{
	uint64_t limit = 100000000;

	prctl(PR_SET_NAME, "newborn");
	(void)unused;
	return work(&limit);
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t thread;

	if (argc > 1 && !strcmp(argv[1], "born")) {
		puts("ready");
		fflush(stdout);
		for (;;) {
			pthread_create(&thread, NULL, newborn, NULL);
			pthread_join(thread, NULL);
		}
	}
	for (int i = 0; i < threads; i++)
		pthread_create(&thread, NULL, worker, (void *)(intptr_t)i);
	puts("ready");
	fflush(stdout);
	if (threads)
		pthread_join(thread, NULL);
	work(NULL);
}
