// SPDX-License-Identifier: Apache-2.0
/* Slow because it looks for a file in places that do not exist, again and again. */
#include <fcntl.h>

#include "slow.h"

int main(void)
{
	ready();
	for (unsigned i = 0;; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/usr/lib/plugins.%u/codec.so", i % 97);
		int fd = open(path, O_RDONLY);
		if (fd >= 0)
			close(fd);
		if (i % 64 == 0)
			grind(i, 500);
	}
}
