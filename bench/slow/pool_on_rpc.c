// SPDX-License-Identifier: Apache-2.0
/* Slow because every thread of its pool waits with poll for the one backend, which takes 40 ms a call. */
#include <poll.h>
#include <sys/socket.h>

#include "slow.h"

static int pairs[4][2];

static NOINLINE void call_backend(int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	char byte = 1;

	send(fd, &byte, 1, 0);
	while (poll(&wait, 1, 1000) == 0)
		;
	if (recv(fd, &byte, 1, MSG_DONTWAIT) != 1)
		exit(0);
}

static void *serve(void *arg)
{
	for (uint64_t i = 0;; i++) {
		grind(i, 50000);
		call_backend(*(int *)arg);
	}
	return arg;
}

static void answer_slowly(void)
{
	struct pollfd wait[4];
	char byte;

	for (unsigned i = 0; i < 4; i++)
		wait[i] = (struct pollfd){ .fd = pairs[i][1], .events = POLLIN };
	while (poll(wait, 4, -1) > 0)
		for (unsigned i = 0; i < 4; i++) {
			if (!wait[i].revents)
				continue;
			if (recv(wait[i].fd, &byte, 1, 0) != 1)
				return;
			pause_us(40000);
			send(wait[i].fd, &byte, 1, 0);
		}
}

int main(void)
{
	pthread_t threads[4];

	for (unsigned i = 0; i < 4; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]))
			return 1;
	if (!fork()) {
		for (unsigned i = 0; i < 4; i++)
			close(pairs[i][0]);
		answer_slowly();
		return 0;
	}
	for (unsigned i = 0; i < 4; i++) {
		close(pairs[i][1]);
		pthread_create(&threads[i], NULL, serve, &pairs[i][0]);
	}
	ready();
	pthread_join(threads[0], NULL);
}
