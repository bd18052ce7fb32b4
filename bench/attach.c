/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attach and detach of 1, 16 and 64 function sites on a target of 200 threads that call them, through uprobe_multi links and through perf
 * events, turn by turn. Prints medians and ratios; exit 1 when the detach of 64 sites takes 100 ms or more.
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/bpf_probe.h"

enum { SITES = 64, SITE_BYTES = 16, THREADS = 200, TURNS = 7, PAUSE_NS = 20000000, DETACH_BUDGET_MS = 100 };

__asm__(".text\n\t.balign 16\n\t.globl bench_sites\nbench_sites:\n\t.rept 64\n\t.balign 16\n\tpush %rbp\n\tpop %rbp\n\tret\n\t.endr");
extern const char bench_sites[];

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void *call_sites(void *arg)
{
	struct timespec pause = { .tv_nsec = PAUSE_NS };

	for (uintptr_t i = (uintptr_t)arg;; i++) {
		((void (*)(void))(uintptr_t)(bench_sites + i % SITES * SITE_BYTES))();
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static pid_t start_target(void)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (uintptr_t i = 1; i < THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, call_sites, (void *)i))
			_exit(1);
	}
	call_sites(NULL);
	_exit(0);
}

/* This program is the target's program too. */
static uint64_t sites_offset(void)
{
	uint64_t address = (uint64_t)(uintptr_t)bench_sites, low, high, offset;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &low, &high, &offset) != 3 || address < low || address >= high)
			continue;
		fclose(maps);
		return address - low + offset;
	}
	abort();
}

struct turn {
	double attach_ms, detach_ms;
};

static int measure(pid_t pid, size_t n, bool perf, struct turn *ret_turn, struct xp_err *reterr)
{
	struct xp_point points[SITES];
	const struct xp_probe_request request = { .points = points, .n_points = n, .pid = (uint32_t)pid, .perf_only = perf };
	xp_auto(xp_probes_free) struct xp_probes *probes = NULL;
	uint64_t offset = sites_offset();

	for (size_t i = 0; i < n; i++)
		points[i] = (struct xp_point){
			.at = XP_POINT_ENTRY, .path = "/proc/self/exe", .offset = offset + i * SITE_BYTES, .selector = "site"
		};
	int r = xp_probes_new(&request, &probes, reterr);
	double begin = now_ms();

	if (!r)
		r = xp_probes_attach(probes, reterr);
	if (r)
		return r;
	double attached = now_ms();

	xp_probes_switch(probes, true);
	usleep(30000);
	double end = now_ms();

	xp_probes_detach(probes);
	*ret_turn = (struct turn){ .attach_ms = attached - begin, .detach_ms = now_ms() - end };
	return 0;
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), by_value);
	return values[n / 2];
}

/* Median of each over TURNS; a negative attach time when the kernel refuses. */
static struct turn measure_all(pid_t pid, size_t n, bool perf)
{
	double attach[TURNS], detach[TURNS];

	for (size_t i = 0; i < TURNS; i++) {
		struct turn turn;
		xp_auto_err err = {};

		if (measure(pid, n, perf, &turn, &err)) {
			printf("SKIP attach: %s: %s\n", xp_err_name(err.code), err.message);
			return (struct turn){ .attach_ms = -1 };
		}
		attach[i] = turn.attach_ms;
		detach[i] = turn.detach_ms;
	}
	return (struct turn){ .attach_ms = median(attach, TURNS), .detach_ms = median(detach, TURNS) };
}

static int run(pid_t pid)
{
	static const size_t counts[] = { 1, 16, 64 };
	struct turn multi = {};

	for (size_t i = 0; i < XP_LEN(counts); i++) {
		multi = measure_all(pid, counts[i], false);
		if (multi.attach_ms < 0)
			return 77;
		printf("%2zu sites, %d threads: attach %7.1f ms   detach %7.1f ms\n", counts[i], THREADS, multi.attach_ms, multi.detach_ms);
		if (counts[i] > XP_PERF_UPROBE_CAP)
			continue;
		struct turn perf = measure_all(pid, counts[i], true);

		if (perf.attach_ms < 0)
			return 77;
		printf("%2zu sites, perf events: attach %7.1f ms   detach %7.1f ms   links / perf events: attach %.3f, detach %.3f\n",
		       counts[i], perf.attach_ms, perf.detach_ms, multi.attach_ms / perf.attach_ms, multi.detach_ms / perf.detach_ms);
	}
	bool kept = multi.detach_ms < DETACH_BUDGET_MS;

	printf("budget: detach of %d sites below %d ms: %s\n", SITES, DETACH_BUDGET_MS, kept ? "kept" : "MISSED");
	return kept ? 0 : 1;
}

int main(void)
{
	if (geteuid() != 0) {
		printf("SKIP attach: wants root\n");
		return 77;
	}
	pid_t pid = start_target();

	usleep(100000);
	int status = run(pid);

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return status;
}
