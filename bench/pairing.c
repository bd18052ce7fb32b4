/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helper of bench/correlate: makes a capture in memory, correlates it, sorts it as a peer. One line a size and scenario:
 * name events pairs correlate_ns sort_ns store_bytes working_bytes
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "correlate/correlate.h"

enum { THREADS = 64, STREAMS = 16, DEPTH = 8, STEP_NS = 100 };

struct scenario {
	const char *name;
	enum xp_policy_id policy;
	enum xp_event_type start, end;
	void (*make)(struct xp_store *store, uint32_t i, uint32_t n, struct xp_event *e); /* role and keys of event i of n */
};

static void as(struct xp_event *e, bool start)
{
	e->endpoints = start ? 1 : 2;
}

/* Entry and exit of one thread lie THREADS events apart, so that all threads are inside at once. */
static void make_syscall(struct xp_store *store, uint32_t i, uint32_t n, struct xp_event *e)
{
	as(e, i / THREADS % 2 == 0);
	e->tid = i % THREADS;
	if (e->endpoints == 1)
		xp_store_set_args(store, e, (uint64_t[6]){ i }); /* a live capture keeps the registers */
}

static void make_calls(struct xp_store *store, uint32_t i, uint32_t n, struct xp_event *e)
{
	uint32_t turn = i / THREADS % (2 * DEPTH), level = turn < DEPTH ? turn : 2 * DEPTH - 1 - turn;

	as(e, turn < DEPTH);
	e->tid = i % THREADS;
	e->flags = XP_EVF_HAS_SP;
	e->host.sp = 1 << 20 | (0x1000 - level * 64);
}

/* Every third frame is left without a return. */
static void make_longjmp(struct xp_store *store, uint32_t i, uint32_t n, struct xp_event *e)
{
	make_calls(store, i, n, e);
	if (e->endpoints == 2 && i / THREADS % 3 == 0)
		as(e, true);
}

static void make_launch(struct xp_store *store, uint32_t i, uint32_t n, struct xp_event *e)
{
	bool api = i < n / 2;

	as(e, api);
	e->clock = api ? XP_CLOCK_HOST : XP_CLOCK_CUPTI_NORMALIZED;
	e->gpu.context = 1;
	e->gpu.correlation = i % (n / 2);
}

/* Launches that carry no context id look it up among all activities. */
static void make_adopting(struct xp_store *store, uint32_t i, uint32_t n, struct xp_event *e)
{
	make_launch(store, i, n, e);
	if (e->endpoints == 1)
		e->flags = XP_EVF_NO_CONTEXT;
}

static void make_stream(struct xp_store *store, uint32_t i, uint32_t n, struct xp_event *e)
{
	as(e, i / STREAMS % 2 == 0);
	e->clock = XP_CLOCK_CUPTI_NORMALIZED;
	e->gpu.context = 1;
	e->gpu.stream = i % STREAMS;
}

static void make_loose(struct xp_store *store, uint32_t i, uint32_t n, struct xp_event *e)
{
	as(e, (i * 2654435761u) >> 31);
}

/* All ends lie on one side of all starts: each search crosses everything that was taken before. */
static void make_apart(struct xp_store *store, uint32_t i, uint32_t n, struct xp_event *e)
{
	as(e, i >= n / 2);
}

static const struct scenario scenarios[] = {
	{ "exact_syscall", XP_POLICY_EXACT, XP_EV_SYSCALL_ENTRY, XP_EV_SYSCALL_EXIT, make_syscall },
	{ "exact_launch", XP_POLICY_EXACT, XP_EV_CUDA_API_ENTRY, XP_EV_GPU_KERNEL_START, make_launch },
	{ "exact_launch_no_context", XP_POLICY_EXACT, XP_EV_CUDA_API_ENTRY, XP_EV_GPU_KERNEL_START, make_adopting },
	{ "stack_nested", XP_POLICY_STACK_NESTED, XP_EV_HOST_FUNCTION_ENTRY, XP_EV_HOST_FUNCTION_EXIT, make_calls },
	{ "stack_nested_longjmp", XP_POLICY_STACK_NESTED, XP_EV_HOST_FUNCTION_ENTRY, XP_EV_HOST_FUNCTION_EXIT, make_longjmp },
	{ "stream_order", XP_POLICY_STREAM_ORDER, XP_EV_GPU_KERNEL_START, XP_EV_GPU_KERNEL_END, make_stream },
	{ "first_after", XP_POLICY_FIRST_AFTER, XP_EV_TRACEPOINT, XP_EV_TRACEPOINT, make_loose },
	{ "nearest", XP_POLICY_NEAREST, XP_EV_TRACEPOINT, XP_EV_TRACEPOINT, make_loose },
	{ "nearest_apart", XP_POLICY_NEAREST, XP_EV_TRACEPOINT, XP_EV_TRACEPOINT, make_apart },
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* other work on the machine does not count */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Largest resident size so far, from the number the kernel keeps. */
static long peak_bytes(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss * 1024;
}

static struct xp_store *capture(const struct scenario *scenario, uint32_t n)
{
	struct xp_store *store = xp_store_new(n);
	uint16_t process = xp_store_process(store, 1, (struct xp_opt_u64)XP_SOME(1));

	for (uint32_t i = 0; i < n; i++) {
		struct xp_event e = { .t_ns = (uint64_t)i * STEP_NS, .sequence = i, .pid = 1, .detail = XP_NO_DETAIL, .process = process };

		scenario->make(store, i, n, &e);
		e.type = (uint8_t)(e.endpoints == 1 ? scenario->start : scenario->end);
		if (!xp_store_add(store, &e))
			abort();
	}
	xp_store_sort(store);
	return store;
}

/* The peer orders the same events by key and time, which is the first step of pairing by a sort. */
static const struct xp_event *peer_events;

static int by_key(const void *left, const void *right)
{
	const struct xp_event *a = &peer_events[*(const uint32_t *)left], *b = &peer_events[*(const uint32_t *)right];

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->gpu.correlation != b->gpu.correlation)
		return a->gpu.correlation < b->gpu.correlation ? -1 : 1;
	if (a->gpu.stream != b->gpu.stream)
		return a->gpu.stream < b->gpu.stream ? -1 : 1;
	return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

static uint64_t sort_ns(struct xp_store *store, uint32_t n)
{
	uint32_t *index = malloc(n * sizeof(*index));
	uint64_t began = now();

	if (!index)
		abort();
	peer_events = xp_store_events(store);
	for (uint32_t i = 0; i < n; i++)
		index[i] = i;
	qsort(index, n, sizeof(*index), by_key);
	uint64_t took = now() - began;
	free(index);
	return took;
}

/* In a process of its own, so that its largest size is that of this run. */
static void run(const struct scenario *scenario, uint32_t n)
{
	long empty = peak_bytes();
	struct xp_store *store = capture(scenario, n);
	long full = peak_bytes();
	struct xp_endpoint start = { .type = scenario->start, .cuda = { .api_name = "cudaLaunchKernel", .memcpy_kind = -1 } };
	struct xp_endpoint end = { .type = scenario->end, .cuda.memcpy_kind = -1 };
	struct xp_correlate_request request = { .start = &start, .end = &end, .start_bit = 1, .end_bit = 2, .policy = scenario->policy };
	struct xp_pairs pairs;
	struct xp_err err = { 0 };
	uint64_t began = now();

	if (xp_correlate(store, &request, &pairs, &err))
		abort();
	uint64_t took = now() - began;
	long worked = peak_bytes();
	printf("%s %u %llu %llu %llu %ld %ld\n", scenario->name, n, (unsigned long long)pairs.n, (unsigned long long)took,
	       (unsigned long long)sort_ns(store, n), full - empty, worked - full);
	xp_pairs_done(&pairs);
	xp_store_free(store);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		for (size_t s = 0; s < XP_LEN(scenarios); s++) {
			int status;
			pid_t child = fork();

			if (child == 0) {
				run(&scenarios[s], (uint32_t)strtoul(argv[i], NULL, 10));
				return fflush(stdout);
			}
			if (child < 0 || waitpid(child, &status, 0) != child || status)
				return 1;
		}
	}
	return 0;
}
