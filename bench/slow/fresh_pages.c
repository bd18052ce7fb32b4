// SPDX-License-Identifier: Apache-2.0
/* Slow because it gives its memory back and takes it again for every image: the time is in page faults. */
#include <sys/mman.h>

#include "slow.h"

int main(void)
{
	const size_t size = 64 << 20;

	ready();
	for (unsigned i = 0;; i++) {
		char *image = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (image == MAP_FAILED)
			return 1;
		for (size_t at = 0; at < size; at += 4096)
			image[at] = (char)i;
		munmap(image, size);
	}
}
