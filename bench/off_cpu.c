/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both halves of bench/off-cpu. `target`: two threads on one CPU pass a byte through pipes; answers each line with the ns of one switch.
 * `attach PID`: follows its blocks as `--off-cpu` does, prints "ready", reads until stdin ends.
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/bpf_sched.h"

enum { BATCHES = 400, TRIPS = 100, TICK_MS = 10 };

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

struct court {
	int there[2], back[2];
};

static void *play_back(void *opaque)
{
	const struct court *court = opaque;
	char byte;

	while (read(court->there[0], &byte, 1) == 1 && write(court->back[1], &byte, 1) == 1)
		;
	return NULL;
}

static double quickest(const struct court *court)
{
	uint64_t best = UINT64_MAX;
	char byte = 'x';

	for (int batch = 0; batch < BATCHES; batch++) {
		uint64_t begin = now();

		for (int i = 0; i < TRIPS; i++)
			if (write(court->there[1], &byte, 1) != 1 || read(court->back[0], &byte, 1) != 1)
				exit(1);
		uint64_t took = now() - begin;

		best = took < best ? took : best;
	}
	return (double)best / (2 * TRIPS);
}

static int be_target(void)
{
	struct court court;
	pthread_t player;
	cpu_set_t one;
	char line[32];

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) || pipe(court.there) || pipe(court.back) ||
	    pthread_create(&player, NULL, play_back, &court))
		return 1;
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		printf("%.2f\n", quickest(&court));
		fflush(stdout);
	}
	return 0;
}

static int attach(uint32_t pid)
{
	const struct xp_bpf_sched_config config = { .targets = { &pid, 1, false }, .min_block_ns = 1000000 };
	const struct xp_bpf_sched_sink sink = { 0 };
	xp_auto(xp_bpf_sched_free) struct xp_bpf_sched *engine = NULL;
	struct pollfd input = { .fd = 0, .events = POLLIN };
	xp_auto_err err = { 0 };

	if (xp_bpf_sched_load(&config, &engine, &err) || xp_bpf_sched_attach(engine, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return err.code == XP_E_PERMISSION_DENIED ? 77 : 1;
	}
	xp_bpf_sched_start(engine, now());
	printf("ready\n");
	fflush(stdout);
	while (poll(&input, 1, TICK_MS) == 0)
		if (xp_bpf_sched_drain(engine, &sink, &err))
			return 1;
	return xp_bpf_sched_detach(engine, &err) ? 1 : 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "target"))
		return be_target();
	if (argc == 3 && !strcmp(argv[1], "attach"))
		return attach((uint32_t)strtoul(argv[2], NULL, 10));
	fprintf(stderr, "off_cpu target | attach PID\n");
	return 2;
}
