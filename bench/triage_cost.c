/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets of bench/triage-cost. Says "ready", then does one batch of work for each line of stdin and answers "done".
 * bench_triage_cost spin | echo: numbers alone, or questions and answers between two threads over a socket, two switches and four calls
 * each.
 * bench_triage_cost watch PID: the sources of a triage, as its window prepares, arms and reads them, again and again: a line of stdin makes
 * them ready ("ready"), the next arms them ("armed"), the next removes them ("gone"). A command for each short turn would take a second.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/parse.h"
#include "inventory/inventory.h"

enum { STEPS = 12000000, QUESTIONS = 3000 };

__attribute__((noinline)) static uint64_t step(uint64_t x)
{
	return x * 6364136223846793005u + (x >> 29);
}

static uint64_t spin(uint64_t x)
{
	for (unsigned i = 0; i < STEPS; i++)
		x = step(x);
	return x;
}

static void *answer(void *arg)
{
	int fd = *(int *)arg;
	uint64_t x;

	while (read(fd, &x, sizeof(x)) == sizeof(x)) {
		x = step(x);
		if (write(fd, &x, sizeof(x)) != sizeof(x))
			break;
	}
	return NULL;
}

static uint64_t ask(int fd, uint64_t x)
{
	for (unsigned i = 0; i < QUESTIONS; i++)
		if (write(fd, &x, sizeof(x)) != sizeof(x) || read(fd, &x, sizeof(x)) != sizeof(x))
			exit(1);
	return x;
}

/* In the order of a triage. */
static const char *const sources[] = { "cgroup", "syscalls", "cpu_samples", "off_cpu", "threads" };
enum { TICK_MS = 10, WINDOW_MS = 1000, TIMEOUT_MS = 10000 };

struct source {
	const struct xp_inventory_kind *kind;
	void *state;
};

static const struct xp_inventory_kind *kind_of(const char *name)
{
	size_t n;
	const struct xp_inventory_kind *const *all = xp_inventories(&n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(all[i]->name, name))
			return all[i];
	return NULL;
}

static int open_all(struct source *list, struct xp_target *target, struct xp_arena *arena, struct xp_err *reterr)
{
	static const struct xp_inventory_request request = { .duration_ms = WINDOW_MS, .timeout_ms = TIMEOUT_MS, .for_triage = true };

	for (size_t i = 0; i < XP_LEN(sources); i++) {
		list[i].kind = kind_of(sources[i]);
		if (!list[i].kind)
			return xp_fail(reterr, XP_E_INTERNAL, "there is no inventory %s", sources[i]);
		int rc = list[i].kind->open(&request, target, arena, &list[i].state, reterr);
		if (rc)
			return rc;
	}
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int prepare_all(struct source *list, struct xp_err *reterr)
{
	int rc = 0;

	for (size_t i = 0; i < XP_LEN(sources) && !rc; i++)
		rc = list[i].kind->ops->prepare ? list[i].kind->ops->prepare(list[i].state, reterr) : 0;
	return rc;
}

static int arm_all(struct source *list, struct xp_err *reterr)
{
	uint64_t start_ns = 0;
	int rc = 0;

	for (size_t i = 0; i < XP_LEN(sources) && !rc; i++)
		rc = list[i].kind->ops->arm ? list[i].kind->ops->arm(list[i].state, reterr) : 0;
	start_ns = now_ns();
	for (size_t i = 0; i < XP_LEN(sources) && !rc; i++)
		rc = list[i].kind->ops->open(list[i].state, start_ns, reterr);
	return rc;
}

static bool next_line(void)
{
	char end;

	return read(0, &end, 1) == 1;
}

static int watch_until_line(struct source *list, struct xp_err *reterr)
{
	struct pollfd input = { .fd = 0, .events = POLLIN };
	int rc = prepare_all(list, reterr);

	if (!rc)
		printf("ready\n");
	if (!rc && next_line())
		rc = arm_all(list, reterr);
	if (!rc)
		printf("armed\n");
	while (!rc && !poll(&input, 1, TICK_MS))
		for (size_t i = 0; i < XP_LEN(sources) && !rc; i++)
			rc = list[i].kind->ops->drain ? list[i].kind->ops->drain(list[i].state, reterr) : 0;
	uint64_t end_ns = now_ns();
	for (size_t i = 0; i < XP_LEN(sources) && !rc; i++)
		list[i].kind->ops->close_window(list[i].state, end_ns);
	for (size_t i = XP_LEN(sources); i-- > 0 && !rc;)
		rc = list[i].kind->ops->disarm ? list[i].kind->ops->disarm(list[i].state, reterr) : 0;
	return rc;
}

static int watch(uint32_t pid)
{
	xp_auto(xp_target_close) struct xp_target *target = NULL;
	xp_auto_err err = { 0 };
	int rc = xp_target_open(pid, NULL, &target, &err);

	while (!rc && next_line()) {
		xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
		struct source list[XP_LEN(sources)] = { 0 };

		rc = open_all(list, target, arena, &err);
		if (!rc)
			rc = watch_until_line(list, &err);
		for (size_t i = 0; i < XP_LEN(sources); i++)
			if (list[i].kind)
				list[i].kind->free(list[i].state);
		if (!rc && next_line())
			printf("gone\n");
	}
	if (rc)
		fprintf(stderr, "%s %s %s: %s\n", err.call, err.object, err.errno_text, err.message);
	return rc != 0;
}

int main(int argc, char **argv)
{
	volatile uint64_t x = 1;
	pthread_t thread;
	char line[16];
	uint64_t pid;
	int pair[2];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 3 && !strcmp(argv[1], "watch") && xp_parse_u64(argv[2], &pid))
		return watch((uint32_t)pid);
	if (argc != 2 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || pthread_create(&thread, NULL, answer, &pair[1]))
		return 2;
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin)) {
		x = strcmp(argv[1], "echo") ? spin(x) : ask(pair[0], x);
		printf("done\n");
	}
	exit(0); /* with the other thread still in its call */
}
