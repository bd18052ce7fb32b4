// SPDX-License-Identifier: Apache-2.0
/* Calls hot() as fast as it can and counts the calls in the first 8 bytes of the file FILE. Prints "ready". */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((noinline)) void hot(volatile uint64_t *count)
{
	*count += 1;
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;

	if (fd < 0 || ftruncate(fd, sizeof(uint64_t)))
		return 2;
	uint64_t *count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (count == MAP_FAILED)
		return 2;
	puts("ready");
	fflush(stdout);
	for (;;)
		hot(count);
}
