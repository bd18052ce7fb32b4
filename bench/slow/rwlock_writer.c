// SPDX-License-Identifier: Apache-2.0
/* Slow because a writer keeps a reader-writer lock while it stores the table, and all readers wait. */
#include "slow.h"

static pthread_rwlock_t routes = PTHREAD_RWLOCK_INITIALIZER;
static uint64_t version;

static void *reload(void *arg)
{
	for (;;) {
		pthread_rwlock_wrlock(&routes);
		pause_us(20000);
		version++;
		pthread_rwlock_unlock(&routes);
		pause_us(1000);
	}
	return arg;
}

static NOINLINE uint64_t find_route(uint64_t address)
{
	pthread_rwlock_rdlock(&routes);
	address = grind(address + version, 3000);
	pthread_rwlock_unlock(&routes);
	return address;
}

static void *serve(void *arg)
{
	uint64_t address = (uintptr_t)arg;

	for (;;)
		address = grind(find_route(address), 100000);
	return arg;
}

int main(void)
{
	pthread_t threads[4];

	pthread_create(&threads[0], NULL, reload, NULL);
	for (uintptr_t i = 1; i < 4; i++)
		pthread_create(&threads[i], NULL, serve, (void *)i);
	ready();
	pthread_join(threads[0], NULL);
}
