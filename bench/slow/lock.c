// SPDX-License-Identifier: Apache-2.0
/* Slow because its threads take turns at one mutex that the holder keeps while it works. */
#include "slow.h"

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static uint64_t total;

static void *update_table(void *arg)
{
	for (;;) {
		pthread_mutex_lock(&table);
		pause_us(3000); /* a slow store, under the lock */
		total++;
		pthread_mutex_unlock(&table);
		grind((uintptr_t)arg, 2000);
	}
	return arg;
}

int main(void)
{
	pthread_t threads[6];

	for (uintptr_t i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, update_table, (void *)i);
	ready();
	pthread_join(threads[0], NULL);
}
