// SPDX-License-Identifier: Apache-2.0
/* Slow because a file larger than the memory it may keep is read by touching it: every page comes from the disk. */
#include <fcntl.h>
#include <sys/mman.h>

#include "slow.h"

int main(void)
{
	const size_t size = 256 << 20;
	char name[] = "/var/tmp/xprobe-slow-XXXXXX", *block = calloc(1, 1 << 20);
	int fd = mkstemp(name);

	if (fd < 0 || !block)
		return 1;
	unlink(name);
	for (size_t done = 0; done < size; done += 1 << 20)
		if (write(fd, block, 1 << 20) != 1 << 20)
			return 1;
	fsync(fd);
	const volatile char *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return 1;
	madvise((void *)(uintptr_t)map, size, MADV_RANDOM);
	ready();
	for (uint64_t seed = 1;; seed = grind(seed, 3)) {
		size_t at = (size_t)(seed >> 20) % (size / 4096) * 4096;

		(void)map[at];
		madvise((void *)(uintptr_t)(map + at), 4096, MADV_DONTNEED);
		posix_fadvise(fd, (off_t)at, 4096, POSIX_FADV_DONTNEED);
	}
}
