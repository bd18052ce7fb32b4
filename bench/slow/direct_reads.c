// SPDX-License-Identifier: Apache-2.0
/* Slow because every block is read from the disk itself, past the cache, one at a time. */
#include <fcntl.h>

#include "slow.h"

enum { BLOCK = 1 << 20, BLOCKS = 32 };

int main(void)
{
	char name[] = "/var/tmp/xprobe-slow-XXXXXX", *block = aligned_alloc(4096, BLOCK);
	int fd = mkstemp(name);

	if (fd < 0 || !block)
		return 1;
	memset(block, 1, BLOCK);
	for (unsigned i = 0; i < BLOCKS; i++)
		if (write(fd, block, BLOCK) != BLOCK)
			return 1;
	fsync(fd);
	int direct = open(name, O_RDONLY | O_DIRECT);
	unlink(name);
	if (direct < 0)
		return 1;
	ready();
	for (uint64_t i = 0;; i++) {
		if (pread(direct, block, BLOCK, (off_t)(i * 7 % BLOCKS) * BLOCK) != BLOCK)
			return 1;
		grind(i, 20000);
	}
}
