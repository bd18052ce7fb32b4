/* SPDX-License-Identifier: Apache-2.0 */
/* Sends one request after the other to the demo server and prints how many came back in each second. In: socket name, seconds. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "demo.h"

static bool read_whole(int fd, void *into, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = recv(fd, (char *)into + done, size - done, 0);
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct sockaddr_un address;
	struct demo_response response;
	unsigned long total = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: %s SOCKET-NAME SECONDS\n", argv[0]);
		return 2;
	}
	socklen_t len = demo_address(argv[1], &address);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, len) < 0) {
		perror("demo client");
		return 1;
	}
	double start = now(), end = start + atof(argv[2]);
	for (uint32_t i = (uint32_t)getpid(); now() < end; i++) {
		struct demo_request request = { .user = i * 7919, .item = i % 512, .quantity = 1 + i % 12 };
		if (send(fd, &request, sizeof(request), MSG_NOSIGNAL) != sizeof(request) || !read_whole(fd, &response, sizeof(response)))
			break;
		total++;
	}
	printf("%.0f requests a second\n", (double)total / (now() - start));
	return 0;
}
