/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets of bench/triage-cost. Says "ready", then does one batch of work for each line of stdin and answers "done".
 * bench_triage_cost spin | echo: numbers alone, or questions and answers between two threads over a socket, two switches and four calls
 * each.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STEPS = 40000000, QUESTIONS = 6000 };

__attribute__((noinline)) static uint64_t step(uint64_t x)
{
	return x * 6364136223846793005u + (x >> 29);
}

static uint64_t spin(uint64_t x)
{
	for (unsigned i = 0; i < STEPS; i++)
		x = step(x);
	return x;
}

static void *answer(void *arg)
{
	int fd = *(int *)arg;
	uint64_t x;

	while (read(fd, &x, sizeof(x)) == sizeof(x)) {
		x = step(x);
		if (write(fd, &x, sizeof(x)) != sizeof(x))
			break;
	}
	return NULL;
}

static uint64_t ask(int fd, uint64_t x)
{
	for (unsigned i = 0; i < QUESTIONS; i++)
		if (write(fd, &x, sizeof(x)) != sizeof(x) || read(fd, &x, sizeof(x)) != sizeof(x))
			exit(1);
	return x;
}

int main(int argc, char **argv)
{
	volatile uint64_t x = 1;
	pthread_t thread;
	char line[16];
	int pair[2];

	if (argc != 2 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || pthread_create(&thread, NULL, answer, &pair[1]))
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin)) {
		x = strcmp(argv[1], "echo") ? spin(x) : ask(pair[0], x);
		printf("done\n");
	}
	exit(0); /* with the other thread still in its call */
}
