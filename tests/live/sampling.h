/* SPDX-License-Identifier: Apache-2.0 */
/* Included by live tests of the sampling engine: a window of samples on a child, and what was counted. */
#ifndef XP_TESTS_SAMPLING_H
#define XP_TESTS_SAMPLING_H

#include <sys/epoll.h>

#include "child.h"

#include "engine/bpf_sample.h"

static inline void msleep(unsigned ms)
{
	struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	while (nanosleep(&left, &left))
		;
}

static inline void must(int rc, const struct xp_err *err)
{
	if (rc)
		fail_msg("%s: %s %s %s", xp_err_name(err->code), err->call, err->object, err->message);
}

/* A right that is missing here ends the test program as skipped. */
static inline struct xp_sampler *start_sampling(const struct xp_sampler_config *config)
{
	struct xp_sampler *sampler = NULL;
	xp_auto_err err = { 0 };
	int rc = xp_sampler_new(config, &sampler, &err);

	if (!rc)
		rc = xp_sampler_attach(sampler, &err);
	if (rc == -XP_E_PERMISSION_DENIED) {
		printf("SKIP: %s %s: %s\n", err.call, err.object, err.errno_text);
		exit(SKIP);
	}
	must(rc, &err);
	if (!config->perf_only && xp_sampler_kind(sampler) != XP_SAMPLER_BPF) {
		printf("SKIP: no right to BPF\n");
		exit(SKIP);
	}
	must(xp_sampler_switch(sampler, true, &err), &err);
	return sampler;
}

static inline void sample_for(struct xp_sampler *sampler, unsigned ms, const struct xp_sample_reader *reader)
{
	uint64_t end_ns = now_ns() + (uint64_t)ms * 1000000u;
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int ring = xp_sampler_fd(sampler);
	xp_auto_fd woken = epoll_create1(EPOLL_CLOEXEC);
	xp_auto_err err = { 0 };

	/* As a window waits: for a wake-up, 10 ms at most. */
	assert_true(ring < 0 || epoll_ctl(woken, EPOLL_CTL_ADD, ring, &event) == 0);
	while (now_ns() < end_ns) {
		epoll_wait(woken, &event, 1, 10);
		must(xp_sampler_read(sampler, reader, &err), &err);
	}
}

/* Switches off, detaches, reads the rest, frees; every tick must be accounted for. */
static inline struct xp_sampler_counts stop_sampling(struct xp_sampler *sampler, const struct xp_sample_reader *reader)
{
	struct xp_sampler_counts counts;
	xp_auto_err err = { 0 };

	must(xp_sampler_switch(sampler, false, &err), &err);
	xp_sampler_detach(sampler);
	must(xp_sampler_read(sampler, reader, &err), &err);
	must(xp_sampler_count(sampler, &counts, &err), &err);
	must(xp_sampler_verify(sampler, &err), &err);
	assert_int_equal(counts.emitted, counts.delivered + counts.ring_full + counts.filtered);
	xp_sampler_free(sampler);
	return counts;
}

/* CPU time of a process so far, its dead threads included. */
static inline uint64_t cpu_ns_of(pid_t pid)
{
	struct timespec time = { 0 };
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	assert_int_equal(clock_gettime(clock, &time), 0);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline const struct xp_rec_python_frame *python_frames(const struct xp_rec_sample *record)
{
	return (const void *)((const uint64_t *)(record + 1) + record->n_kernel);
}

static inline void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

#endif
