// SPDX-License-Identifier: Apache-2.0
/* Stuck: two threads hold one lock each and wait for the other's; the main thread waits for both. */
#include "slow.h"

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER, audit = PTHREAD_MUTEX_INITIALIZER;

static void *transfer(void *arg)
{
	pthread_mutex_lock(&accounts);
	pause_us(100000);
	pthread_mutex_lock(&audit);
	return arg;
}

static void *report(void *arg)
{
	pthread_mutex_lock(&audit);
	pause_us(100000);
	pthread_mutex_lock(&accounts);
	return arg;
}

int main(void)
{
	pthread_t first, second;

	pthread_create(&first, NULL, transfer, NULL);
	pthread_create(&second, NULL, report, NULL);
	pause_us(300000);
	ready();
	pthread_join(first, NULL);
}
