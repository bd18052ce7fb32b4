// SPDX-License-Identifier: Apache-2.0
/* Slow because the client that it sends a file to reads slowly. */
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include "slow.h"

int main(void)
{
	char name[] = "/var/tmp/xprobe-slow-XXXXXX", block[65536] = { 0 };
	int pair[2], fd = mkstemp(name);

	if (fd < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	unlink(name);
	for (unsigned i = 0; i < 64; i++)
		if (write(fd, block, sizeof(block)) != sizeof(block))
			return 1;
	if (!fork()) {
		close(pair[0]);
		while (read(pair[1], block, sizeof(block)) > 0)
			pause_us(4000);
		return 0;
	}
	close(pair[1]);
	ready();
	for (;;) {
		off_t at = 0;

		while (at < 64 * (off_t)sizeof(block))
			if (sendfile(pair[0], fd, &at, 1 << 20) <= 0)
				return 0;
	}
}
