/* SPDX-License-Identifier: Apache-2.0 */
/* One poll over the input and the programs that run. In: lines, outputs, ends. Out: one thing at a time. Owns the children and their pipes.
 */
#include "collect/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/collector.h"

enum { CHUNK = 65536, FILE_FD = 3, WAKE_MS = 500 };

struct call {
	pid_t pid; /* 0: free */
	int fd;
	void *owner;
	struct xp_text output;
};

struct xp_calls {
	int input_fd;
	bool ended, skipping;
	struct xp_text input; /* bytes read; those before `used` are done with */
	size_t used;
	struct call calls[XP_CALLS_MAX];
	struct xp_text last; /* output of the call told last */
};

struct xp_calls *xp_calls_new(int input_fd)
{
	struct xp_calls *calls = calloc(1, sizeof(*calls));

	if (calls)
		calls->input_fd = input_fd;
	return calls;
}

__attribute__((noreturn)) static void become(const char *const *argv, int out, int file_fd, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGINT);
	if (getppid() != parent)
		_exit(1);
	/* The file first: the pipe may sit on its number. */
	int pipe_copy = fcntl(out, F_DUPFD_CLOEXEC, FILE_FD + 1), null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (pipe_copy < 0 || null < 0 || (file_fd >= 0 && file_fd != FILE_FD && dup2(file_fd, FILE_FD) < 0))
		_exit(1);
	if (file_fd == FILE_FD)
		fcntl(FILE_FD, F_SETFD, 0);
	if (dup2(null, STDIN_FILENO) < 0 || dup2(pipe_copy, STDOUT_FILENO) < 0)
		_exit(1);
	execv("/proc/self/exe", (char *const *)argv);
	_exit(1);
}

int xp_calls_start(struct xp_calls *calls, const char *const *argv, int file_fd, void *owner, struct xp_err *reterr)
{
	struct call *call = NULL;
	int ends[2];

	for (size_t i = 0; i < XP_CALLS_MAX && !call; i++)
		if (!calls->calls[i].pid)
			call = &calls->calls[i];
	if (!call)
		return xp_fail(reterr, XP_E_RESOURCE_LIMIT, "%d commands run at once already", XP_CALLS_MAX);
	if (pipe2(ends, O_CLOEXEC))
		return xp_fail_call(reterr, XP_E_RESOURCE_LIMIT, errno, "pipe2", "%s", argv[1]);
	xp_auto_fd out = ends[0], in = ends[1];
	/*
	 * Until the program has its own handlers a signal waits: this process's handler, which the child has before it is that program,
	 * would swallow it.
	 */
	sigset_t signals, before;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, &before);
	pid_t parent = getpid(), pid = fork();
	if (pid)
		sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return xp_fail_call(reterr, XP_E_RESOURCE_LIMIT, errno, "fork", "%s", argv[1]);
	if (!pid)
		become(argv, in, file_fd, parent);
	*call = (struct call){ .pid = pid, .fd = xp_steal_fd(&out), .owner = owner, .output.limit = XP_CALL_OUTPUT_MAX };
	return 0;
}

void xp_calls_interrupt(struct xp_calls *calls, const void *owner)
{
	for (size_t i = 0; i < XP_CALLS_MAX; i++)
		if (calls->calls[i].pid && calls->calls[i].owner == owner)
			kill(calls->calls[i].pid, SIGINT);
}

size_t xp_calls_running(const struct xp_calls *calls)
{
	size_t n = 0;

	for (size_t i = 0; i < XP_CALLS_MAX; i++)
		n += calls->calls[i].pid != 0;
	return n;
}

/* A whole line that was read already. A line that is too long is skipped to its end. */
static bool take_line(struct xp_calls *calls, struct xp_call_news *news)
{
	char *from = calls->input.data ? calls->input.data + calls->used : NULL, *end;
	size_t left = calls->input.len - calls->used;

	end = left ? memchr(from, '\n', left) : NULL;
	if (!end) {
		if (calls->used) {
			memmove(calls->input.data, from, left);
			calls->input.len = left;
			calls->used = 0;
		}
		if (left > XP_CALL_LINE_MAX) {
			calls->skipping = true;
			calls->input.len = 0;
		}
		return false;
	}
	calls->used += (size_t)(end - from) + 1;
	*end = '\0';
	bool skipped = calls->skipping || end - from > XP_CALL_LINE_MAX;
	calls->skipping = false;
	*news = (struct xp_call_news){ .event = skipped ? XP_CALL_LONG_LINE : XP_CALL_LINE, .text = from, .len = (size_t)(end - from) };
	return true;
}

static void read_input(struct xp_calls *calls)
{
	char bytes[CHUNK];
	ssize_t n = read(calls->input_fd, bytes, sizeof(bytes));

	if (n > 0)
		xp_text_add(&calls->input, bytes, (size_t)n);
	else if (!n || errno != EINTR)
		calls->ended = true;
}

/* True when the program closed its output: it is waited for and its output handed over. */
static bool read_output(struct xp_calls *calls, struct call *call, struct xp_call_news *news)
{
	char bytes[CHUNK];
	ssize_t n = read(call->fd, bytes, sizeof(bytes));

	if (n > 0)
		xp_text_add(&call->output, bytes, (size_t)n);
	if (n > 0 || (n < 0 && errno == EINTR))
		return false;
	while (waitpid(call->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	close(call->fd);
	xp_text_done(&calls->last);
	calls->last = call->output;
	*news = (struct xp_call_news){ .event = XP_CALL_DONE,
				       .text = calls->last.data ? calls->last.data : "",
				       .len = calls->last.len,
				       .cut = calls->last.cut,
				       .owner = call->owner };
	*call = (struct call){ 0 };
	return true;
}

struct xp_call_news xp_calls_next(struct xp_calls *calls)
{
	struct xp_call_news news;
	bool told_end = calls->ended;

	for (;;) {
		struct pollfd ready[XP_CALLS_MAX + 1];

		if (!told_end && take_line(calls, &news))
			return news;
		if (xp_interrupts())
			calls->ended = true;
		if (calls->ended && (!told_end || !xp_calls_running(calls)))
			return (struct xp_call_news){ .event = XP_CALL_END };
		for (size_t i = 0; i < XP_CALLS_MAX; i++)
			ready[i] = (struct pollfd){ .fd = calls->calls[i].pid ? calls->calls[i].fd : -1, .events = POLLIN };
		ready[XP_CALLS_MAX] = (struct pollfd){ .fd = calls->ended ? -1 : calls->input_fd, .events = POLLIN };
		/* Short enough for a signal that came just before. */
		if (poll(ready, XP_CALLS_MAX + 1, WAKE_MS) < 0)
			continue;
		for (size_t i = 0; i < XP_CALLS_MAX; i++)
			if (ready[i].revents && read_output(calls, &calls->calls[i], &news))
				return news;
		if (ready[XP_CALLS_MAX].revents)
			read_input(calls);
	}
}

bool xp_calls_tell(int output_fd, const char *bytes, size_t len)
{
	while (len) {
		struct pollfd ready = { .fd = output_fd, .events = POLLOUT };
		int n = poll(&ready, 1, WAKE_MS);

		if (!n && xp_interrupts())
			return false;
		if (n <= 0)
			continue;
		/* No more than a pipe that is ready surely takes, so that write does not wait. */
		ssize_t written = write(output_fd, bytes, len < PIPE_BUF ? len : PIPE_BUF);
		if (written < 0 && errno != EINTR && errno != EAGAIN)
			return false;
		if (written > 0) {
			bytes += written;
			len -= (size_t)written;
		}
	}
	return true;
}

void xp_calls_free(struct xp_calls *calls)
{
	if (!calls)
		return;
	for (size_t i = 0; i < XP_CALLS_MAX; i++) {
		struct call *call = &calls->calls[i];

		if (!call->pid)
			continue;
		kill(call->pid, SIGKILL);
		while (waitpid(call->pid, NULL, 0) < 0 && errno == EINTR)
			continue;
		close(call->fd);
		xp_text_done(&call->output);
	}
	xp_text_done(&calls->input);
	xp_text_done(&calls->last);
	free(calls);
}
