// SPDX-License-Identifier: Apache-2.0
/*
 * Waits in known proportions, each kind in a function of its own and a thread of its own name. waits MODE; prints "ready" when all threads
 * are under way.
 *   mix    one thread "mixed": of 40 ms 20 in nap_long, 10 in lock_short, 5 in poll_short, 5 in read_short (a timer feeds the pipe)
 *   hung   threads "hung-0".."hung-6": all blocked for good in hang_here below down() three times; "reader" in read_for_good
 *   mortal as hung, but after 2.5 s the main thread lets "reader" go, which ends, and starts "late", which blocks for good
 */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { HUNG = 7 };

static int pipes[2];
static volatile int kept; /* keeps calls from becoming jumps */

static void start(void *(*run)(void *), void *arg, const char *name)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, arg)) {
		perror("pthread_create");
		exit(1);
	}
	pthread_setname_np(thread, name);
	pthread_detach(thread);
}

static __attribute__((noinline)) void nap_long(void)
{
	struct timespec time = { .tv_nsec = 20000000 };

	nanosleep(&time, NULL);
	kept++;
}

static __attribute__((noinline)) void lock_short(void)
{
	static int word;
	struct timespec time = { .tv_nsec = 10000000 };

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0);
	kept++;
}

static __attribute__((noinline)) void poll_short(void)
{
	poll(NULL, 0, 5);
	kept++;
}

static __attribute__((noinline)) void read_short(int timer)
{
	struct itimerspec once = { .it_value = { .tv_nsec = 5000000 } };
	uint64_t times;

	timerfd_settime(timer, 0, &once, NULL);
	if (read(timer, &times, sizeof(times)) < 0)
		exit(1);
	kept++;
}

static void *mix(void *unused)
{
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);

	for (;;) {
		nap_long();
		lock_short();
		poll_short();
		read_short(timer);
	}
	return unused;
}

static __attribute__((noinline)) void hang_here(void)
{
	static volatile int word;

	while (!word) /* never woken; a signal may end the call */
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static __attribute__((noinline)) void down(int depth)
{
	volatile char room[200];

	room[0] = 0;
	if (depth)
		down(depth - 1);
	else
		hang_here();
	kept += room[0];
}

static void *hang(void *unused)
{
	down(3);
	return unused;
}

static __attribute__((noinline)) void read_for_good(void)
{
	char byte;

	if (read(pipes[0], &byte, 1) < 0)
		exit(1);
	kept++;
}

static void *reader(void *unused)
{
	read_for_good();
	return unused;
}

static void start_hung(void)
{
	char name[16];

	for (int i = 0; i < HUNG; i++) {
		snprintf(name, sizeof(name), "hung-%d", i);
		start(hang, NULL, name);
	}
	start(reader, NULL, "reader");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (pipe(pipes))
		return 1;
	if (!strcmp(mode, "mix"))
		start(mix, NULL, "mixed");
	else
		start_hung();
	usleep(100000);
	puts("ready");
	fflush(stdout);
	if (!strcmp(mode, "mortal")) {
		usleep(2500000);
		if (write(pipes[1], "x", 1) != 1)
			return 1;
		start(hang, NULL, "late");
	}
	for (;;)
		pause();
}
