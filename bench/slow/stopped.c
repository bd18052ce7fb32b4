// SPDX-License-Identifier: Apache-2.0
/* Stuck because somebody stopped it. */
#include <signal.h>

#include "slow.h"

int main(void)
{
	ready();
	for (uint64_t i = 0;; i++) {
		grind(i, 1000);
		raise(SIGSTOP);
	}
}
