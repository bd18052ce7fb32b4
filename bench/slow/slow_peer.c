// SPDX-License-Identifier: Apache-2.0
/* Slow because the service it asks takes 20 ms an answer. */
#include <sys/socket.h>

#include "slow.h"

static void *slow_peer(void *arg)
{
	int fd = *(int *)arg;
	char byte;

	while (recv(fd, &byte, 1, 0) == 1) {
		pause_us(20000);
		send(fd, &byte, 1, 0);
	}
	return NULL;
}

int main(void)
{
	int pair[2];
	char byte = 1;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	if (!fork()) {
		close(pair[0]);
		slow_peer(&pair[1]);
		return 0;
	}
	close(pair[1]);
	ready();
	for (uint64_t i = 0;; i++) {
		send(pair[0], &byte, 1, 0);
		if (recv(pair[0], &byte, 1, 0) != 1)
			return 0;
		grind(i, 50000);
	}
}
