// SPDX-License-Identifier: Apache-2.0
/* Slow because its control group may keep 24 MiB in memory, and it goes over a mapped file of 96 MiB again and again. */
#include <fcntl.h>
#include <sys/mman.h>

#include "slow.h"

enum { SIZE = 96 << 20, PAGE = 4096 };

static NOINLINE unsigned sum_column(const volatile unsigned char *column)
{
	unsigned sum = 0;

	for (size_t at = 0; at < SIZE; at += PAGE)
		sum += column[at];
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
	posix_fadvise(fd, 0, SIZE, POSIX_FADV_DONTNEED); /* pages count for the group that reads them first */
	ready();
	pause_us(300000); /* now it is put into the group */
	void *column = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);

	if (column == MAP_FAILED)
		return 1;
	for (;;)
		sum_column(column);
}
