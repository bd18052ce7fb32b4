// SPDX-License-Identifier: Apache-2.0
/* Slow because it makes a thread for each small task. */
#include "slow.h"

static void *task(void *arg)
{
	grind((uintptr_t)arg, 2500000);
	return NULL;
}

int main(void)
{
	ready();
	for (uintptr_t i = 0;; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, task, (void *)i))
			return 1;
		pthread_join(thread, NULL);
	}
}
