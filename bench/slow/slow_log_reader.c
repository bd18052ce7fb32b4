// SPDX-License-Identifier: Apache-2.0
/* Slow because each log line goes through a pipe whose reader takes its time. */
#include "slow.h"

int main(void)
{
	int ends[2];
	char line[4096];

	if (pipe(ends))
		return 1;
	if (!fork()) {
		close(ends[1]);
		while (read(ends[0], line, sizeof(line)) > 0)
			pause_us(5000);
		return 0;
	}
	close(ends[0]);
	memset(line, 'x', sizeof(line));
	ready();
	for (uint64_t i = 0;; i++) {
		grind(i, 20000);
		if (write(ends[1], line, sizeof(line)) < 0)
			return 0;
	}
}
