// SPDX-License-Identifier: Apache-2.0
/* Slow because its consumers wait for one producer that has to compute each item. */
#include "slow.h"

static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static unsigned items;

static NOINLINE uint64_t decode_video_frame(uint64_t frame)
{
	return grind(frame, 2000000);
}

static void *consume(void *arg)
{
	for (;;) {
		pthread_mutex_lock(&queue);
		while (!items)
			pthread_cond_wait(&filled, &queue);
		items--;
		pthread_mutex_unlock(&queue);
		grind((uintptr_t)arg, 20000);
	}
	return arg;
}

int main(void)
{
	pthread_t threads[4];

	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, consume, (void *)i);
	ready();
	for (uint64_t i = 0;; i++) {
		decode_video_frame(i);
		pthread_mutex_lock(&queue);
		items++;
		pthread_cond_signal(&filled);
		pthread_mutex_unlock(&queue);
	}
}
