/* SPDX-License-Identifier: Apache-2.0 */
/* What following one switch and one exit of a call costs, tried on xprobe itself. In: nothing. Out: ns. No state: a second instance is
 * freed. */
#include "engine/bpf_sched.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Rounds are short, so that some of them run undisturbed. */
enum { ROUNDS = 16, TRIPS = 64, CALLS = 256 };

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct court {
	int there, back; /* eventfds */
};

/* Gives back each ball; a ball of 2 ends the game. */
static void *play_back(void *opaque)
{
	struct court *court = opaque;
	uint64_t ball = 1;

	while (read(court->there, &ball, sizeof(ball)) == sizeof(ball) && ball < 2)
		if (write(court->back, &ball, sizeof(ball)) != sizeof(ball))
			break;
	return NULL;
}

/* ns of one switch in the least disturbed round, both players on one CPU: each trip is two switches and four calls. */
static uint64_t best_switch(const struct court *court)
{
	uint64_t best = UINT64_MAX, ball;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = now_ns();

		for (int i = 0; i < TRIPS; i++) {
			ball = 1;
			if (write(court->there, &ball, sizeof(ball)) != sizeof(ball) ||
			    read(court->back, &ball, sizeof(ball)) != sizeof(ball))
				return 0;
		}
		uint64_t took = now_ns() - start;
		best = took < best ? took : best;
	}
	return best / (2 * TRIPS);
}

static uint64_t best_call(void)
{
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = now_ns();

		for (int i = 0; i < CALLS; i++)
			syscall(SYS_getppid);
		uint64_t took = now_ns() - start;
		best = took < best ? took : best;
	}
	return best / CALLS;
}

static uint64_t over(uint64_t followed, uint64_t bare)
{
	return followed > bare ? followed - bare : 0;
}

static int measure(const struct court *court, bool several, struct xp_bpf_sched_floor *ret_floor, struct xp_err *reterr)
{
	const uint32_t self = (uint32_t)getpid();
	const struct xp_bpf_sched_config config = { .targets = { &self, 1, several }, .min_block_ns = UINT64_MAX };
	xp_auto(xp_bpf_sched_free) struct xp_bpf_sched *engine = NULL;
	uint64_t bare_switch = best_switch(court), bare_call = best_call();
	int rc = xp_bpf_sched_load(&config, &engine, reterr);

	if (!rc)
		rc = xp_bpf_sched_attach(engine, reterr);
	if (rc)
		return rc;
	xp_bpf_sched_start(engine, now_ns());
	uint64_t exit_ns = over(best_call(), bare_call);
	uint64_t switch_ns = over(best_switch(court), bare_switch);

	rc = xp_bpf_sched_detach(engine, reterr);
	if (rc)
		return rc;
	ret_floor->exit_ns = exit_ns;
	ret_floor->switch_ns = over(switch_ns, 2 * exit_ns);
	return 0;
}

static int play(const struct court *court, bool several, struct xp_bpf_sched_floor *ret_floor, struct xp_err *reterr)
{
	const uint64_t last = 2;
	cpu_set_t before, one;
	pthread_t player;
	int cpu = sched_getcpu();

	if (cpu < 0 || sched_getaffinity(0, sizeof(before), &before))
		return xp_fail_sys(reterr, errno, "sched_getaffinity", "xprobe itself");
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return xp_fail_sys(reterr, errno, "sched_setaffinity", "CPU %d", cpu);
	int rc = pthread_create(&player, NULL, play_back, (void *)court);
	if (rc) {
		sched_setaffinity(0, sizeof(before), &before);
		return xp_fail_sys(reterr, rc, "pthread_create", "thread to switch to");
	}
	rc = measure(court, several, ret_floor, reterr);
	if (write(court->there, &last, sizeof(last)) == sizeof(last))
		pthread_join(player, NULL);
	sched_setaffinity(0, sizeof(before), &before);
	return rc;
}

int xp_bpf_sched_floor(bool several, struct xp_bpf_sched_floor *ret_floor, struct xp_err *reterr)
{
	xp_auto_fd there = eventfd(0, EFD_CLOEXEC), back = eventfd(0, EFD_CLOEXEC);
	struct court court = { there, back };

	if (there < 0 || back < 0)
		return xp_fail_sys(reterr, errno, "eventfd", "floor of a switch");
	return play(&court, several, ret_floor, reterr);
}
