// SPDX-License-Identifier: Apache-2.0
/* Slow because the last of three stages waits for a storage service, and the stages before it wait for a free slot behind each other. */
#include <sys/socket.h>

#include "slow.h"

static struct stage {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned items;
} queues[2] = { { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 }, { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 } };

static void put(struct stage *queue)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->items == 4)
		pthread_cond_wait(&queue->changed, &queue->lock);
	queue->items++;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

static void take(struct stage *queue)
{
	pthread_mutex_lock(&queue->lock);
	while (!queue->items)
		pthread_cond_wait(&queue->changed, &queue->lock);
	queue->items--;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

static void *parse(void *arg)
{
	for (uint64_t i = 0;; i++) {
		grind(i, 30000);
		put(&queues[0]);
	}
	return arg;
}

static void *transform(void *arg)
{
	for (uint64_t i = 0;; i++) {
		take(&queues[0]);
		grind(i, 30000);
		put(&queues[1]);
	}
	return arg;
}

static NOINLINE void store_item(int fd)
{
	char byte = 1;

	send(fd, &byte, 1, 0);
	if (recv(fd, &byte, 1, 0) != 1)
		exit(0);
}

int main(void)
{
	pthread_t threads[2];
	int pair[2];
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	if (!fork()) {
		close(pair[0]);
		while (recv(pair[1], &byte, 1, 0) == 1) {
			pause_us(15000);
			send(pair[1], &byte, 1, 0);
		}
		return 0;
	}
	close(pair[1]);
	pthread_create(&threads[0], NULL, parse, NULL);
	pthread_create(&threads[1], NULL, transform, NULL);
	ready();
	for (;;) {
		take(&queues[1]);
		store_item(pair[0]);
	}
}
