// SPDX-License-Identifier: Apache-2.0
/* Slow because it asks whether the work is there, and sleeps 10 ms whenever it is not. */
#include "slow.h"

int main(void)
{
	ready();
	for (uint64_t i = 0;; i++) {
		grind(i, 200000);
		pause_us(10000);
	}
}
