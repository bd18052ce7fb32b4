// SPDX-License-Identifier: Apache-2.0
/* Slow because the first name server never answers: every look-up waits 400 ms for it before it asks the second one. */
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include "slow.h"

static int server(struct sockaddr_in *address)
{
	socklen_t size = sizeof(*address);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	*address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd < 0 || bind(fd, (struct sockaddr *)address, sizeof(*address)) || getsockname(fd, (struct sockaddr *)address, &size))
		exit(1);
	return fd;
}

static int ask(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), got;
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	char text[64] = "host.example";

	if (fd < 0 || sendto(fd, text, sizeof(text), 0, (const struct sockaddr *)address, sizeof(*address)) < 0)
		exit(1);
	got = poll(&wait, 1, 400);
	if (got > 0)
		recv(fd, text, sizeof(text), 0);
	close(fd);
	return got;
}

int main(void)
{
	struct sockaddr_in silent, lively, from;
	char text[64];

	server(&silent);
	int fd = server(&lively);
	if (!fork())
		for (;;) {
			socklen_t size = sizeof(from);
			ssize_t n = recvfrom(fd, text, sizeof(text), 0, (struct sockaddr *)&from, &size);

			if (n < 0 || getppid() == 1)
				return 0;
			sendto(fd, text, (size_t)n, 0, (struct sockaddr *)&from, size);
		}
	ready();
	for (uint64_t i = 0;; i++) {
		if (ask(&silent) <= 0)
			ask(&lively);
		grind(i, 100000);
	}
}
