// SPDX-License-Identifier: Apache-2.0
/* Slow because its pool of four threads wants more than its control group may use; each of them works for 2 ms and rests for 8. */
#include "slow.h"

static void *serve(void *arg)
{
	for (uint64_t i = 0;; i++) {
		grind(i, 2500000);
		pause_us(8000);
	}
	return arg;
}

int main(void)
{
	pthread_t threads[4];

	for (unsigned i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, serve, NULL);
	ready();
	pthread_join(threads[0], NULL);
}
