// SPDX-License-Identifier: Apache-2.0
/* Slow because it starts a program for every item. */
#include <spawn.h>
#include <sys/wait.h>

#include "slow.h"

extern char **environ;

int main(void)
{
	ready();
	for (uint64_t i = 0;; i++) {
		char *const words[] = { "true", NULL };
		pid_t pid;

		if (posix_spawn(&pid, "/bin/true", NULL, NULL, words, environ))
			return 1;
		waitpid(pid, NULL, 0);
		grind(i, 10000);
	}
}
