// SPDX-License-Identifier: Apache-2.0
/* Slow because it reads a stream byte by byte. */
#include <fcntl.h>

#include "slow.h"

int main(void)
{
	int fd = open("/dev/zero", O_RDONLY);
	char byte;

	ready();
	while (read(fd, &byte, 1) == 1)
		;
}
