// SPDX-License-Identifier: Apache-2.0
/* A chain of three processes, slow because the one in the middle has to compute a lot for each block. */
#include "slow.h"

static char block[4096];

static void make_blocks(int out)
{
	while (write(out, block, sizeof(block)) > 0)
		grind(1, 10000);
}

static NOINLINE void filter_block(uint64_t i)
{
	grind(i, 3000000);
}

static void filter_blocks(int in, int out)
{
	for (uint64_t i = 0; read(in, block, sizeof(block)) > 0; i++) {
		filter_block(i);
		if (write(out, block, sizeof(block)) < 0)
			return;
	}
}

int main(void)
{
	int first[2], second[2];

	if (pipe(first) || pipe(second))
		return 1;
	if (!fork()) {
		close(first[0]);
		make_blocks(first[1]);
		return 0;
	}
	close(first[1]);
	if (!fork()) {
		close(second[0]);
		filter_blocks(first[0], second[1]);
		return 0;
	}
	close(first[0]);
	close(second[1]);
	ready();
	while (read(second[0], block, sizeof(block)) > 0)
		grind(2, 10000);
}
