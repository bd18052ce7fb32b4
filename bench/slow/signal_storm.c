// SPDX-License-Identifier: Apache-2.0
/* Slow because a timer interrupts it all the time, and the handler looks through a table. */
#include <signal.h>
#include <sys/time.h>

#include "slow.h"

static volatile uint64_t seen;

static NOINLINE void check_deadlines(int signal)
{
	seen = grind(seen + (uint64_t)signal, 700000);
}

int main(void)
{
	const struct itimerval often = { .it_interval.tv_usec = 1000, .it_value.tv_usec = 1000 };

	signal(SIGALRM, check_deadlines);
	setitimer(ITIMER_REAL, &often, NULL);
	ready();
	for (uint64_t i = 0;; i++)
		grind(i, 1000);
}
