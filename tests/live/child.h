/* SPDX-License-Identifier: Apache-2.0 */
/* A child process that makes no system call between go and done but those of its body, and the tests' ways of waiting for it. */
#ifndef XP_TESTS_CHILD_H
#define XP_TESTS_CHILD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SKIP = 77 };

/* Shared by test and child. */
struct shared {
	atomic_int ready, go, done, finish;
	atomic_int step, signals, tid[8];
	int pipe[2];
};

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The child's way of waiting: no system call. */
static inline void spin(atomic_int *flag)
{
	while (!atomic_load(flag))
		__builtin_ia32_pause();
}

#define WAIT_UNTIL(condition)                                                \
	do {                                                                 \
		uint64_t give_up = now_ns() + 5000000000u;                   \
		while (!(condition)) {                                       \
			if (now_ns() > give_up)                              \
				fail_msg("never came true: %s", #condition); \
			usleep(1000);                                        \
		}                                                            \
	} while (0)

/* Is the thread inside call `nr`? */
static inline bool inside(pid_t pid, pid_t tid, long nr)
{
	char path[64], text[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	bool ok = fgets(text, sizeof(text), file) && text[0] >= '0' && text[0] <= '9' && atol(text) == nr;

	fclose(file);
	return ok;
}

static inline char state_of(pid_t pid)
{
	char path[64], text[256] = "";

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return 0;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	char *paren = strrchr(text, ')');
	return paren && paren[1] ? paren[2] : 0;
}

/* The whole process, not its first thread: that one may be a zombie alone. */
static inline bool gone(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* Forks; the child runs before(), says ready, and runs body() when shared->go is set. */
static inline pid_t fork_child(struct shared *shared, void (*before)(struct shared *), void (*body)(struct shared *))
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (before)
		before(shared);
	atomic_store(&shared->ready, 1);
	spin(&shared->go);
	body(shared);
	atomic_store(&shared->done, 1);
	spin(&shared->finish);
	_exit(0);
}

#endif
