/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only loop that waits. In: an open window. Out: why it ended. It drains every 10 ms, or earlier when a collector's descriptor
 * becomes readable, and looks at the target, the bounds and the cost in between.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "collect/window_priv.h"

enum { TICK_MS = 10, CHECK_MS = 100, FIRST_COST_MS = 200, PROGRESS_MS = 250 };

struct wait {
	struct xp_window_run *run;
	int epoll_fd;
	uint64_t next_check_ns, next_progress_ns;
};

static int watch(struct wait *wait, int fd, uint32_t events, void *tag, struct xp_err *reterr)
{
	struct epoll_event event = { .events = events, .data.ptr = tag };

	if (epoll_ctl(wait->epoll_fd, EPOLL_CTL_ADD, fd, &event))
		return xp_fail_sys(reterr, errno, "epoll_ctl", "descriptor %d", fd);
	return 0;
}

/* A BPF ring is readable as long as anything lies in it, so only edges may wake us: level triggering would spin under load. */
static int watch_all(struct wait *wait, struct xp_err *reterr)
{
	struct xp_window_run *run = wait->run;
	int r = 0;

	/* Once: the pidfd of an ended process stays readable while the others go on. */
	for (size_t i = 0; i < run->n_targets && !r; i++)
		r = watch(wait, xp_target_pidfd(run->targets[i].target), EPOLLIN | EPOLLONESHOT, &run->targets[i], reterr);
	for (size_t i = 0; i < run->n && !r; i++) {
		struct xp_collector *collector = &run->collectors[i];
		int fd = !collector->out && collector->ops->poll_fd ? collector->ops->poll_fd(collector->state) : -1;

		if (fd >= 0)
			r = watch(wait, fd, EPOLLIN | EPOLLET, NULL, reterr);
	}
	return r;
}

static int drain_all(struct xp_window_run *run, struct xp_err *reterr)
{
	for (size_t i = 0; i < run->n; i++) {
		struct xp_collector *collector = &run->collectors[i];

		if (collector->out)
			continue;
		int r = xp_window_step(collector, collector->ops->drain, reterr);

		if (r)
			return r;
		if (collector->out)
			collector->ops->close_window(collector->state, xp_window_now());
	}
	return 0;
}

static int wanted_end(const struct xp_window_run *run)
{
	for (size_t i = 0; i < run->n; i++) {
		const struct xp_collector *collector = &run->collectors[i];
		int end = collector->out || !collector->ops->want_end ? -1 : collector->ops->want_end(collector->state);

		if (end >= 0)
			return end;
	}
	return -1;
}

/* The slower looks, each 100 ms: execve, cost. True when the cost limit is reached. */
static bool check_slowly(struct wait *wait, uint64_t now_ns)
{
	struct xp_window_run *run = wait->run;

	if (now_ns < wait->next_check_ns)
		return false;
	wait->next_check_ns = now_ns + CHECK_MS * XP_NS_PER_MS;
	for (size_t i = 0; i < run->n_targets; i++)
		run->targets[i].exec_seen |= xp_target_exec_changed(run->targets[i].target);
	return now_ns - run->window->start_ns >= FIRST_COST_MS * XP_NS_PER_MS && xp_window_too_dear(run, now_ns);
}

static void tell_progress(struct wait *wait, uint64_t now_ns)
{
	const struct xp_window_bounds *bounds = wait->run->bounds;

	if (!bounds->on_progress || now_ns < wait->next_progress_ns)
		return;
	wait->next_progress_ns = now_ns + PROGRESS_MS * XP_NS_PER_MS;
	bounds->on_progress(bounds->progress_arg, (now_ns - wait->run->window->start_ns) / XP_NS_PER_MS);
}

static uint64_t duration_end(const struct xp_window_run *run)
{
	return run->bounds->duration_ms ? run->window->start_ns + run->bounds->duration_ms * XP_NS_PER_MS : UINT64_MAX;
}

/* -1: go on. Asked behind a drain, so that what the kernel had is counted first. */
static int why_end(struct wait *wait, uint64_t now_ns)
{
	struct xp_window_run *run = wait->run;
	int wanted = wanted_end(run);

	if (wanted >= 0)
		return wanted;
	if (xp_window_all_gone(run))
		return XP_END_TARGET_GONE;
	if (xp_interrupts() > 0)
		return XP_END_SIGNAL;
	if (now_ns >= duration_end(run))
		return XP_END_DURATION;
	if (now_ns >= run->deadline_ns)
		return XP_END_TIMEOUT;
	return check_slowly(wait, now_ns) ? XP_END_COST : -1;
}

/* Until the next tick, an early wake-up, or the end of the window, whichever comes first. */
static int sleep_a_tick(struct wait *wait, uint64_t now_ns, struct xp_err *reterr)
{
	struct epoll_event events[16];
	uint64_t until_ns = now_ns + TICK_MS * XP_NS_PER_MS, end_ns = duration_end(wait->run);

	end_ns = wait->run->deadline_ns < end_ns ? wait->run->deadline_ns : end_ns;
	until_ns = end_ns < until_ns ? end_ns : until_ns;
	int timeout_ms = (int)((until_ns - now_ns + XP_NS_PER_MS - 1) / XP_NS_PER_MS);
	int n = epoll_wait(wait->epoll_fd, events, XP_LEN(events), timeout_ms);

	if (n < 0 && errno != EINTR)
		return xp_fail_sys(reterr, errno, "epoll_wait", "window");
	for (int i = 0; i < n; i++) {
		struct xp_window_target *ended = events[i].data.ptr;

		if (ended)
			ended->gone = true;
	}
	return 0;
}

static int loop(struct wait *wait, struct xp_err *reterr)
{
	struct xp_window_run *run = wait->run;

	for (;;) {
		uint64_t now_ns = xp_window_now();
		int end = why_end(wait, now_ns), r;

		if (end >= 0) {
			run->window->end = (enum xp_window_end)end;
			return 0;
		}
		tell_progress(wait, now_ns);
		r = sleep_a_tick(wait, now_ns, reterr);
		if (!r)
			r = drain_all(run, reterr);
		if (r)
			return r;
	}
}

int xp_window_wait(struct xp_window_run *run, struct xp_err *reterr)
{
	xp_auto_fd epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct wait wait = {
		.run = run,
		.epoll_fd = epoll_fd,
		.next_check_ns = run->window->start_ns + CHECK_MS * XP_NS_PER_MS,
		.next_progress_ns = run->window->start_ns + PROGRESS_MS * XP_NS_PER_MS,
	};

	if (epoll_fd < 0)
		return xp_fail_sys(reterr, errno, "epoll_create1", "window");
	int r = watch_all(&wait, reterr);

	return r ? r : loop(&wait, reterr);
}
