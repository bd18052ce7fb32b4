// SPDX-License-Identifier: Apache-2.0
/* Slow because its control group may use a quarter of a CPU. The benchmark puts it into such a group. */
#include "slow.h"

static NOINLINE uint64_t compress_block(uint64_t block)
{
	return grind(block, 100000);
}

int main(void)
{
	ready();
	for (uint64_t i = 0;; i++)
		compress_block(i);
}
