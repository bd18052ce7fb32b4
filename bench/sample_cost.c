/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_sample_cost target N: N threads; at each line of stdin prints the CPU time of the quickest batch of work, ns. One thread: a fixed
 * piece of work. More: two tokens run round through all of them, time of a hop. What interrupts a thread is booked as its CPU time, what
 * else runs on the machine is not.
 * bench_sample_cost sample PID HZ: samples PID until stdin ends, its Python frames too; says "ready" first and the counts last.
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/parse.h"
#include "elf/python.h"
#include "engine/bpf_sample.h"

enum { BATCHES = 16, SPINS = 150000000, WORK = 3000, THREADS_MAX = 8192, HOP_BATCH_MS = 100, SKIPPED = 77, DRAIN_MS = 10 };

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void spin(unsigned n)
{
	for (volatile unsigned i = 0; i < n; i++)
		;
}

struct crowd {
	unsigned n;
	sem_t turns[THREADS_MAX];
	atomic_ulong hops;
};

struct member {
	struct crowd *crowd;
	unsigned index;
};

static void *pass_on(void *arg)
{
	const struct member *member = arg;
	struct crowd *crowd = member->crowd;

	for (;;) {
		while (sem_wait(&crowd->turns[member->index]))
			;
		spin(WORK);
		atomic_fetch_add(&crowd->hops, 1);
		sem_post(&crowd->turns[(member->index + 1) % crowd->n]);
	}
	return NULL;
}

static struct crowd *start_crowd(unsigned n)
{
	struct crowd *crowd = calloc(1, sizeof(*crowd));
	struct member *members = calloc(n, sizeof(*members));
	pthread_attr_t attr;
	pthread_t thread;

	if (!crowd || !members)
		exit(1);
	crowd->n = n;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (unsigned i = 0; i < n; i++)
		sem_init(&crowd->turns[i], 0, 0);
	for (unsigned i = 0; i < n; i++) {
		members[i] = (struct member){ crowd, i };
		if (pthread_create(&thread, &attr, pass_on, &members[i]))
			exit(1);
	}
	sem_post(&crowd->turns[0]);
	sem_post(&crowd->turns[n / 2]);
	return crowd;
}

static double time_batch(struct crowd *crowd)
{
	uint64_t start = cpu_ns();

	if (!crowd) {
		spin(SPINS);
		return (double)(cpu_ns() - start);
	}
	unsigned long before = atomic_load(&crowd->hops);

	usleep(HOP_BATCH_MS * 1000);
	unsigned long hops = atomic_load(&crowd->hops) - before;

	return (double)(cpu_ns() - start) / (double)(hops ? hops : 1);
}

static int run_target(unsigned n)
{
	struct crowd *crowd = n > 1 ? start_crowd(n) : NULL;
	char line[16];

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin)) {
		double best = 0;

		for (int i = 0; i < BATCHES; i++) {
			double took = time_batch(crowd);

			best = !best || took < best ? took : best;
		}
		printf("%.1f\n", best);
	}
	exit(0); /* with the crowd still in its calls */
}

struct sum {
	uint64_t bytes, python_frames;
};

static void add_up(void *arg, const struct xp_rec_sample *record)
{
	struct sum *sum = arg;

	sum->bytes += record->size;
	sum->python_frames += record->n_python;
}

static int fail(const struct xp_err *err)
{
	fprintf(stderr, "%s %s %s: %s\n", err->call, err->object, err->errno_text, err->message);
	return err->code == XP_E_PERMISSION_DENIED ? SKIPPED : 1;
}

static int drain(struct xp_sampler *sampler, struct xp_err *reterr)
{
	struct pollfd input = { .fd = 0, .events = POLLIN };
	struct sum sum = { 0 };
	const struct xp_sample_reader reader = { add_up, &sum };
	struct xp_sampler_counts counts;
	int r = xp_sampler_switch(sampler, true, reterr);

	printf("ready\n");
	fflush(stdout);
	while (!r && !poll(&input, 1, DRAIN_MS))
		r = xp_sampler_read(sampler, &reader, reterr);
	if (!r)
		r = xp_sampler_switch(sampler, false, reterr);
	xp_sampler_detach(sampler);
	if (!r)
		r = xp_sampler_read(sampler, &reader, reterr);
	if (!r)
		r = xp_sampler_verify(sampler, reterr);
	if (!r)
		r = xp_sampler_count(sampler, &counts, reterr);
	if (!r)
		printf("%lu samples, %lu dropped, %lu bytes, %lu Python frames\n", counts.delivered, counts.ring_full, sum.bytes,
		       sum.python_frames);
	return r;
}

static int run_sampler(unsigned pid, unsigned hz)
{
	struct xp_sampler_config config = { .pid = pid, .frequency_hz = hz };
	xp_auto(xp_target_close) struct xp_target *target = NULL;
	xp_auto(xp_python_free) struct xp_python *python = NULL;
	xp_auto(xp_sampler_free) struct xp_sampler *sampler = NULL;
	xp_auto_err err = { 0 };

	if (xp_target_open(pid, NULL, &target, &err) || xp_python_open(target, &python, &err))
		return fail(&err);
	config.python = xp_python_layout(python);
	if (xp_sampler_new(&config, &sampler, &err) || xp_sampler_attach(sampler, &err) || drain(sampler, &err))
		return fail(&err);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t first, second;

	if (argc == 3 && !strcmp(argv[1], "target") && xp_parse_u64(argv[2], &first) && first <= THREADS_MAX)
		return run_target((unsigned)first);
	if (argc == 4 && !strcmp(argv[1], "sample") && xp_parse_u64(argv[2], &first) && xp_parse_u64(argv[3], &second))
		return run_sampler((unsigned)first, (unsigned)second);
	return 2;
}
