// SPDX-License-Identifier: Apache-2.0
/* A process in one of the states that a triage must recognise. load MODE [ARG]; prints "ready" when it is in that state. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

static void *spin(void *unused)
{
	for (volatile unsigned long n = 0;; n++)
		;
	return unused;
}

static void start(void *(*run)(void *), void *arg, const char *name)
{
	pthread_t thread;
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN > 32768 ? PTHREAD_STACK_MIN : 32768);
	if (pthread_create(&thread, &attr, run, arg)) {
		perror("pthread_create");
		exit(1);
	}
	pthread_setname_np(thread, name);
	pthread_detach(thread);
}

/* Two spinners on one CPU: each waits half of the time. */
static void pinned(const char *cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(atoi(cpu), &one);
	sched_setaffinity(0, sizeof(one), &one);
	start(spin, NULL, "spin-1");
	ready();
	spin(NULL);
}

static void sync_writer(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	char block[65536];

	memset(block, 'x', sizeof(block));
	for (int i = 0;; i++) {
		if (pwrite(fd, block, sizeof(block), (i % 64) * (off_t)sizeof(block)) < 0 || fsync(fd)) {
			perror("fsync");
			exit(1);
		}
		if (i == 3)
			ready();
	}
}

static void storm(void)
{
	ready();
	for (;;)
		syscall(SYS_getppid);
}

static void failing(void)
{
	ready();
	for (;;) {
		for (int i = 0; i < 7; i++)
			if (open("/nonexistent/file", O_RDONLY) >= 0)
				exit(1);
		usleep(1000);
	}
}

static void *read_for_ever(void *arg)
{
	char c;

	while (read(*(int *)arg, &c, 1) < 0 && errno == EINTR)
		;
	return NULL;
}

/* A deadlock: the main thread wants a lock that nobody lets go, another thread reads a pipe that nobody writes. */
static void hung(void)
{
	static int pipe_ends[2];
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	if (pipe(pipe_ends))
		exit(1);
	start(read_for_ever, &pipe_ends[0], "reader-7");
	pthread_mutex_lock(&lock);
	ready();
	pthread_mutex_lock(&lock);
}

static void *short_life(void *unused)
{
	for (volatile unsigned n = 0; n < 400000; n++)
		;
	return unused;
}

/* About 500 threads a second, each so short that few readings see one. */
static void churn(void)
{
	ready();
	for (;;) {
		pthread_t thread;

		if (!pthread_create(&thread, NULL, short_life, NULL))
			pthread_join(thread, NULL);
		usleep(500);
	}
}

static void *sleep_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void many(int n)
{
	for (int i = 0; i < n; i++) {
		char name[16];

		snprintf(name, sizeof(name), "pool-%d", i);
		start(sleep_for_ever, NULL, name);
	}
	start(spin, NULL, "spin");
	ready();
	pause();
}

static void parent(void)
{
	pid_t child = fork();

	if (!child)
		spin(NULL);
	ready();
	waitpid(child, NULL, 0);
}

static void exit_after(int ms)
{
	ready();
	for (struct timespec left = { ms / 1000, ms % 1000 * 1000000L }; nanosleep(&left, &left);)
		;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "", *arg = argc > 2 ? argv[2] : "";

	if (!strcmp(mode, "spin")) {
		ready();
		spin(NULL);
	} else if (!strcmp(mode, "pinned")) {
		pinned(arg);
	} else if (!strcmp(mode, "fsync")) {
		sync_writer(arg);
	} else if (!strcmp(mode, "storm")) {
		storm();
	} else if (!strcmp(mode, "failing")) {
		failing();
	} else if (!strcmp(mode, "hung")) {
		hung();
	} else if (!strcmp(mode, "churn")) {
		churn();
	} else if (!strcmp(mode, "many")) {
		many(atoi(arg));
	} else if (!strcmp(mode, "parent")) {
		parent();
	} else if (!strcmp(mode, "exit")) {
		exit_after(atoi(arg));
	} else {
		return 2;
	}
	return 0;
}
