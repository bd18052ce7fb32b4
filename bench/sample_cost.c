/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_sample_cost target N: N threads; at each line of stdin prints the CPU time of one batch of work, ns. One thread: a fixed piece of
 * work. More: two tokens run round through all of them, time of a hop. What interrupts a thread is booked as its CPU time, what else runs
 * on the machine is not. bench_sample_cost sample PID HZ: samples PID, its Python frames too, from one line of stdin to the next; says
 * "ready" when it does, and the counts when it has stopped.
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

enum { SPINS = 10000000, WORK = 3000, THREADS_MAX = 8192, HOP_BATCH_MS = 25, SKIPPED = 77, DRAIN_MS = 10 };

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
	while (fgets(line, sizeof(line), stdin))
		printf("%.1f\n", time_batch(crowd));
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

/* Lines are empty, and the next one may be there already. */
static bool next_line(void)
{
	char end;

	return read(0, &end, 1) == 1;
}

/* Until the next line, or the end of input. */
static int drain(struct xp_sampler *sampler, struct sum *sum, struct xp_sampler_counts *ret_counts, struct xp_err *reterr)
{
	struct pollfd input = { .fd = 0, .events = POLLIN };
	const struct xp_sample_reader reader = { add_up, sum };
	int r = xp_sampler_switch(sampler, true, reterr);

	if (!r)
		printf("ready\n");
	while (!r && !poll(&input, 1, DRAIN_MS))
		r = xp_sampler_read(sampler, &reader, reterr);
	if (!r)
		r = xp_sampler_switch(sampler, false, reterr);
	xp_sampler_detach(sampler);
	if (!r)
		r = xp_sampler_read(sampler, &reader, reterr);
	if (!r)
		r = xp_sampler_verify(sampler, reterr);
	return r ? r : xp_sampler_count(sampler, ret_counts, reterr);
}

static int sample_once(const struct xp_sampler_config *config, struct sum *sum, struct xp_sampler_counts *ret_counts, struct xp_err *reterr)
{
	xp_auto(xp_sampler_free) struct xp_sampler *sampler = NULL;
	int r = xp_sampler_new(config, &sampler, reterr);

	if (!r)
		r = xp_sampler_attach(sampler, reterr);
	return r ? r : drain(sampler, sum, ret_counts, reterr);
}

/* The counts come when nothing of the sampler is left. */
static int run_sampler(unsigned pid, unsigned hz)
{
	struct xp_sampler_config config = { .pid = pid, .frequency_hz = hz };
	xp_auto(xp_target_close) struct xp_target *target = NULL;
	xp_auto(xp_python_free) struct xp_python *python = NULL;
	struct xp_sampler_counts counts;
	xp_auto_err err = { 0 };

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (xp_target_open(pid, NULL, &target, &err) || xp_python_open(target, &python, &err))
		return fail(&err);
	config.python = xp_python_layout(python);
	while (next_line()) {
		struct sum sum = { 0 };

		if (sample_once(&config, &sum, &counts, &err))
			return fail(&err);
		next_line(); /* the one that ended it */
		printf("%lu samples, %lu dropped, %lu bytes, %lu Python frames\n", counts.delivered, counts.ring_full, sum.bytes,
		       sum.python_frames);
	}
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
