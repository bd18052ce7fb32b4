// SPDX-License-Identifier: Apache-2.0
/* Slow because other programs take its CPU: it runs on one that three neighbours use too. */
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include "slow.h"

static NOINLINE uint64_t render_frame(uint64_t frame)
{
	return grind(frame, 100000);
}

int main(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (unsigned i = 0; i < 3; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setsid();
		for (uint64_t n = 0;; n++)
			grind(n, 1000000);
	}
	ready();
	for (uint64_t i = 0;; i++)
		render_frame(i);
}
