// SPDX-License-Identifier: Apache-2.0
/* Slow because of one stage whose time is spread over many small helpers: no single function stands out. */
#include "slow.h"

#define STEP(n)                                            \
	static NOINLINE uint64_t normalize_##n(uint64_t x) \
	{                                                  \
		return grind(x, 150 + n);                  \
	}
STEP(1);
STEP(2);
STEP(3);
STEP(4);
STEP(5);
STEP(6);
STEP(7);
STEP(8);
STEP(9);
STEP(10);
STEP(11);
STEP(12);
STEP(13);
STEP(14);
STEP(15);
STEP(16);

static uint64_t (*const steps[])(uint64_t) = { normalize_1,  normalize_2,  normalize_3,	 normalize_4,  normalize_5,  normalize_6,
					       normalize_7,  normalize_8,  normalize_9,	 normalize_10, normalize_11, normalize_12,
					       normalize_13, normalize_14, normalize_15, normalize_16 };

static NOINLINE uint64_t normalize_record(uint64_t x)
{
	for (unsigned i = 0; i < 16; i++)
		x ^= steps[i](x);
	return x;
}

int main(void)
{
	uint64_t sum = 0;

	ready();
	for (uint64_t i = 0;; i++)
		sum += normalize_record(i + sum);
}
