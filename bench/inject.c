/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long one thread stands still for an injection, beside a bare ptrace stop (seize, interrupt, wait, detach) of a thread of the same
 * process, turn by turn in fresh processes. Prints medians, their difference and ratio; exit 1 when the difference is above 5 ms.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inject/inject.h"

enum { TURNS = 31, THREADS = 7, CONTROL_BYTES = 4096, BUDGET_MS = 5 };

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void *wait_for_ever(void *arg)
{
	for (;;)
		poll(NULL, 0, 1000000);
	return NULL;
}

static pid_t start_target(void)
{
	int ready[2];
	char byte;

	if (pipe(ready))
		return -1;
	pid_t pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (uintptr_t i = 1; i < THREADS; i++) {
			pthread_t thread;

			if (pthread_create(&thread, NULL, wait_for_ever, NULL))
				_exit(1);
		}
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		wait_for_ever(NULL);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		pid = -1;
	close(ready[0]);
	usleep(5000);
	return pid;
}

static double bare_stop(pid_t pid)
{
	double start = now_ms();
	int status;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) || waitpid(pid, &status, __WALL) != pid ||
	    ptrace(PTRACE_DETACH, pid, NULL, NULL))
		return -1;
	return now_ms() - start;
}

struct turn {
	double bare, stall, whole;
};

static int measure(const struct xp_inject_request *request, struct turn *ret_turn)
{
	xp_auto(xp_target_close) struct xp_target *target = NULL;
	struct xp_inject_result result;
	xp_auto_err err = { 0 };
	pid_t pid = start_target();
	int rc = 0;

	if (pid < 0)
		return -1;
	ret_turn->bare = bare_stop(pid);
	double start = now_ms();
	if (ret_turn->bare < 0 || xp_target_open((uint32_t)pid, NULL, &target, &err) || xp_inject(target, request, &result, &err)) {
		fprintf(stderr, "%s\n", err.message);
		rc = -1;
	} else {
		ret_turn->whole = now_ms() - start;
		ret_turn->stall = (double)result.stall_ns / 1e6;
		close(result.control_fd);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return rc;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double middle(const struct turn *turns, size_t offset, double *ret_worst)
{
	double values[TURNS];

	for (size_t i = 0; i < TURNS; i++)
		memcpy(&values[i], (const char *)&turns[i] + offset, sizeof(values[i]));
	qsort(values, TURNS, sizeof(*values), by_value);
	*ret_worst = values[TURNS - 1];
	return values[TURNS / 2];
}

int main(int argc, char **argv)
{
	struct xp_inject_request request = {
		.image_name = "probe", .entry = "probe_start", .control_name = "control", .control_size = CONTROL_BYTES
	};
	struct turn turns[TURNS];
	struct stat st;
	double worst_bare, worst_stall, worst_whole;
	int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0 || fstat(fd, &st)) {
		fprintf(stderr, "usage: bench_inject LIBRARY\n");
		return 2;
	}
	request.image_size = (size_t)st.st_size;
	request.image = mmap(NULL, request.image_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (request.image == MAP_FAILED)
		return 2;
	for (size_t i = 0; i < TURNS; i++)
		if (measure(&request, &turns[i]))
			return 1;
	double bare = middle(turns, offsetof(struct turn, bare), &worst_bare);
	double stall = middle(turns, offsetof(struct turn, stall), &worst_stall);
	double whole = middle(turns, offsetof(struct turn, whole), &worst_whole);
	printf("%-28s %8s %8s\n", "ms", "median", "worst");
	printf("%-28s %8.3f %8.3f\n", "bare stop", bare, worst_bare);
	printf("%-28s %8.3f %8.3f\n", "stop for an injection", stall, worst_stall);
	printf("%-28s %8.3f %8.3f\n", "whole injection", whole, worst_whole);
	printf("injection / bare stop: %.1f; beyond it: %.3f ms (at most %d)\n", stall / bare, stall - bare, BUDGET_MS);
	return stall - bare > BUDGET_MS;
}
