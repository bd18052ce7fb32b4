// SPDX-License-Identifier: Apache-2.0
/* Slow because the file that it maps does not stay in memory: a neighbour pushes it out, and touching a page waits for the disk. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>

#include "slow.h"

enum { SIZE = 64 << 20, PAGE = 4096 };

/* Memory pressure: pages that nobody maps at the moment leave the cache. */
static void push_out(int fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		posix_fadvise(fd, 0, SIZE, POSIX_FADV_DONTNEED);
		pause_us(20000);
	}
}

static NOINLINE unsigned look_up(const volatile unsigned char *index, uint64_t seed)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < 64; i++) {
		seed = grind(seed, 100);
		sum += index[(size_t)(seed >> 20) % (SIZE / PAGE) * PAGE];
	}
	return sum;
}

int main(void)
{
	char name[] = "/var/tmp/xprobe-slow-XXXXXX", *block = calloc(1, 1 << 20);
	int fd = mkstemp(name);

	if (fd < 0 || !block)
		return 1;
	unlink(name);
	for (size_t done = 0; done < SIZE; done += 1 << 20)
		if (write(fd, block, 1 << 20) != 1 << 20)
			return 1;
	fsync(fd);
	if (!fork())
		push_out(fd);
	ready();
	for (uint64_t i = 1;; i++) {
		void *index = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);

		if (index == MAP_FAILED)
			return 1;
		madvise(index, SIZE, MADV_RANDOM);
		look_up(index, i * 977);
		munmap(index, SIZE);
	}
}
