// SPDX-License-Identifier: Apache-2.0
/* Slow because a second process holds the lock file most of the time. */
#include <fcntl.h>
#include <sys/file.h>

#include "slow.h"

int main(void)
{
	char name[] = "/tmp/xprobe-slow-XXXXXX";
	int fd = mkstemp(name), other = open(name, O_RDWR);

	if (fd < 0 || other < 0)
		return 1;
	unlink(name);
	if (!fork()) {
		close(fd);
		for (;;) {
			flock(other, LOCK_EX);
			pause_us(15000);
			flock(other, LOCK_UN);
			pause_us(200);
			if (getppid() == 1)
				return 0;
		}
	}
	close(other);
	ready();
	for (uint64_t i = 0;; i++) {
		flock(fd, LOCK_EX);
		grind(i, 20000);
		flock(fd, LOCK_UN);
		grind(i, 20000);
	}
}
