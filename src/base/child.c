/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded child process. In: a function. Out: its reply, or the reason why there is none. No state. */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void send_all(int fd, const char *data, ssize_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, data, (size_t)len);

		if (n < 0 && errno != EINTR)
			_exit(1);
		if (n > 0) {
			data += n;
			len -= n;
		}
	}
}

void xp_child_begin(pid_t parent)
{
	/* The parent's handlers speak for the parent; one answer on its stdout is enough. */
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	/* A child that cannot be killed must not keep the parent's output open, nor may a library write there. */
	int null = open("/dev/null", O_RDWR);
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
		_exit(1);
}

__attribute__((noreturn)) static void run_child(ssize_t (*work)(void *, char *, size_t), void *arg, int fd, pid_t parent, size_t size)
{
	xp_child_begin(parent);
	char *reply = malloc(size);
	ssize_t len = reply ? work(arg, reply, size) : -1;
	if (len < 0)
		_exit(1);
	send_all(fd, reply, len);
	_exit(0);
}

/* Until end of file or the deadline; -ETIME when the child is still busy then. */
static ssize_t receive(int fd, uint64_t deadline_ms, char *reply, size_t size)
{
	size_t len = 0;

	for (;;) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		uint64_t now = now_ms();
		int n = now < deadline_ms ? poll(&ready, 1, (int)(deadline_ms - now)) : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ETIME;
		char rest;
		ssize_t got = len < size ? read(fd, reply + len, size - len) : read(fd, &rest, 1);
		if (got < 0)
			return -errno;
		if (!got)
			return (ssize_t)len;
		if (len < size)
			len += (size_t)got;
	}
}

ssize_t xp_child_call(ssize_t (*work)(void *arg, char *reply, size_t size), void *arg, unsigned timeout_ms, char *ret_reply, size_t size)
{
	uint64_t deadline = now_ms() + timeout_ms;
	pid_t parent = getpid();
	int ends[2], status;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	xp_auto_fd in = ends[0];
	xp_auto_fd out = ends[1];
	pid_t child = fork();
	if (child < 0)
		return -errno;
	if (!child)
		run_child(work, arg, out, parent, size);
	xp_close_p(&out);
	ssize_t len = receive(in, deadline, ret_reply, size);
	if (len < 0) {
		kill(child, SIGKILL);
		/* A child stuck inside a driver cannot be waited for; it becomes init's when we end. */
		waitpid(child, NULL, WNOHANG);
		return len;
	}
	/* The pipe is at its end: the child is on its way out. */
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? len : -ECHILD;
}
