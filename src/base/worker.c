/* SPDX-License-Identifier: Apache-2.0 */
/* A child that serves requests over a socket. In: a job. Out: replies in the order of the requests. State: struct xp_worker. */
#include "base/worker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/err.h"

#ifndef SYS_close_range
#define SYS_close_range 436 /* Linux 5.9 */
#endif
enum { MAX_WAITING = 100, REAP_STEPS = 100, REAP_STEP_NS = 1000000 };

struct xp_worker {
	pid_t child;
	int fd;
	unsigned waiting;
	size_t reply_size, have; /* bytes of the next reply in `buf`, its length in front */
	char *buf;
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- in the child ---- */

static void read_all(int fd, void *data, size_t len)
{
	char *at = data;

	while (len) {
		ssize_t n = read(fd, at, len);

		if (!n || (n < 0 && errno != EINTR))
			_exit(0); /* the parent has closed its end */
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
}

static void send_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			_exit(0);
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
}

/* A probe that the parent takes off must not live on through a copy of its descriptor here. */
static int keep_only(int fd)
{
	int kept = dup2(fd, 3);

	if (kept < 0)
		_exit(1);
	if (!syscall(SYS_close_range, 4u, ~0u, 0u))
		return kept;
	for (long i = 4, end = sysconf(_SC_OPEN_MAX); i < end; i++)
		close((int)i);
	return kept;
}

__attribute__((noreturn)) static void serve(const struct xp_worker_job *job, int socket, pid_t parent)
{
	xp_child_begin(parent);
	/* A signal of the terminal ends the parent's window; the last reading is wanted then. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	int fd = keep_only(socket);
	char *reply = malloc(job->reply_size);
	void *context = reply ? job->begin() : NULL;

	for (;;) {
		struct xp_worker_request request;

		read_all(fd, &request, sizeof(request));
		ssize_t len = reply ? job->answer(context, &request, reply, job->reply_size) : -1;
		if (len < 0)
			_exit(1);
		uint64_t size = (uint64_t)len;
		send_all(fd, &size, sizeof(size));
		send_all(fd, reply, (size_t)len);
	}
}

/* ---- in the parent ---- */

int xp_worker_start(const struct xp_worker_job *job, struct xp_worker **ret_worker, struct xp_err *reterr)
{
	xp_auto(xp_worker_stop) struct xp_worker *worker = calloc(1, sizeof(*worker));
	pid_t parent = getpid();
	int ends[2];

	if (!worker)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "a helper process");
	worker->fd = -1;
	worker->reply_size = job->reply_size;
	worker->buf = malloc(sizeof(uint64_t) + job->reply_size);
	if (!worker->buf)
		return xp_fail_sys(reterr, ENOMEM, "malloc", "replies of a helper process");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return xp_fail_sys(reterr, errno, "socketpair", "a helper process");
	worker->fd = ends[0];
	xp_auto_fd theirs = ends[1];
	worker->child = fork();
	if (worker->child < 0)
		return xp_fail_sys(reterr, errno, "fork", "a helper process");
	if (!worker->child)
		serve(job, theirs, parent);
	*ret_worker = xp_steal(&worker);
	return 0;
}

/* A killed child ends within moments, unless it sits in a driver: then it becomes init's when we end. */
static void reap(pid_t child)
{
	const struct timespec step = { 0, REAP_STEP_NS };

	kill(child, SIGKILL);
	for (unsigned i = 0; i < REAP_STEPS; i++) {
		pid_t done = waitpid(child, NULL, WNOHANG);

		if (done == child || (done < 0 && errno != EINTR))
			return;
		nanosleep(&step, NULL);
	}
}

void xp_worker_stop(struct xp_worker *worker)
{
	if (!worker)
		return;
	xp_close_p(&worker->fd);
	if (worker->child > 0)
		reap(worker->child);
	free(worker->buf);
	free(worker);
}

bool xp_worker_ask(struct xp_worker *worker, const struct xp_worker_request *request)
{
	if (worker->waiting == MAX_WAITING || send(worker->fd, request, sizeof(*request), MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(*request))
		return false;
	worker->waiting++;
	return true;
}

/* Length of the next reply when all of it has come, else -ETIME. */
static ssize_t complete(const struct xp_worker *worker)
{
	uint64_t size;

	if (worker->have < sizeof(size))
		return -ETIME;
	memcpy(&size, worker->buf, sizeof(size));
	if (size > worker->reply_size)
		return -EPROTO;
	return worker->have == sizeof(size) + size ? (ssize_t)size : -ETIME;
}

/* Never reads beyond the reply that is coming. */
static ssize_t receive(struct xp_worker *worker)
{
	uint64_t size = 0;

	if (worker->have >= sizeof(size))
		memcpy(&size, worker->buf, sizeof(size));
	if (size > worker->reply_size)
		return -EPROTO; /* as before: nothing that follows can be told apart */
	ssize_t n = recv(worker->fd, worker->buf + worker->have, sizeof(size) + size - worker->have, MSG_DONTWAIT);
	if (!n)
		return -ECHILD;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -ETIME : errno == ECONNRESET ? -ECHILD : -errno;
	worker->have += (size_t)n;
	return complete(worker);
}

ssize_t xp_worker_take(struct xp_worker *worker, unsigned timeout_ms, void *ret_reply, size_t size)
{
	uint64_t deadline = now_ms() + timeout_ms;

	for (;;) {
		size_t had = worker->have;
		ssize_t len = receive(worker);

		if (len >= 0) {
			memcpy(ret_reply, worker->buf + sizeof(uint64_t), (size_t)len < size ? (size_t)len : size);
			worker->have = 0;
			worker->waiting--;
			return len;
		}
		if (len != -ETIME)
			return len;
		if (worker->have != had)
			continue;
		struct pollfd ready = { .fd = worker->fd, .events = POLLIN };
		uint64_t now = now_ms();
		if (now >= deadline)
			return -ETIME;
		poll(&ready, 1, (int)(deadline - now));
	}
}

unsigned xp_worker_waiting(const struct xp_worker *worker)
{
	return worker->waiting;
}
