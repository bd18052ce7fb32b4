/* SPDX-License-Identifier: Apache-2.0 */
/* A program to put probes on: calls tick() about every 50 us until it is killed, or ARG threads of it do. Prints "ready". */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE_NS = 50000 };

static __attribute__((noinline)) unsigned long tick(unsigned long value)
{
	__asm__ volatile("" : "+r"(value)::"memory");
	return value * 3 + 1;
}

static void *loop(void *argument)
{
	struct timespec pause = { .tv_nsec = PAUSE_NS };
	unsigned long value = (unsigned long)argument;

	for (;;) {
		value = tick(value);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;

	printf("ready\n");
	fflush(stdout);
	for (int i = 1; i < threads; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, loop, (void *)(unsigned long)i) != 0)
			return 1;
	}
	loop(NULL);
	return 0;
}
