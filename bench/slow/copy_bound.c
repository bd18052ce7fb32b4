// SPDX-License-Identifier: Apache-2.0
/* Slow because it copies whole frames about. */
#include "slow.h"

enum { FRAME = 32 << 20 };

static NOINLINE void keep_history(char *to, const char *from)
{
	memcpy(to, from, FRAME);
	__asm__ volatile("" : : "r"(to) : "memory");
}

int main(void)
{
	char *now = malloc(FRAME), *history[2] = { malloc(FRAME), malloc(FRAME) };

	if (!now || !history[0] || !history[1])
		return 1;
	memset(now, 3, FRAME);
	memset(history[0], 1, FRAME);
	memset(history[1], 2, FRAME);
	ready();
	for (unsigned i = 0;; i++) {
		keep_history(history[i % 2], now);
		grind(i, 1000);
	}
}
