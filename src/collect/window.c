/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One bounded window. In: collectors, the target to watch, bounds. Out: struct xp_window and every collector disarmed again.
 * Arming walks the collectors forwards, disarming backwards; what lies behind the window runs in every case. No state of its own.
 */
#include "collect/window_priv.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* linux/ioprio.h is missing from older kernel headers. */
#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_LAST_BEST_EFFORT (2 << 13 | 7)
#define DISARM_LIMIT_NS (5 * XP_NS_PER_S) /* contract 6.3 */

uint64_t xp_window_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * XP_NS_PER_S + (uint64_t)now.tv_nsec;
}

static double ms_between(uint64_t from_ns, uint64_t to_ns)
{
	return (double)(to_ns - from_ns) / XP_NS_PER_MS;
}

int xp_window_step(struct xp_collector *collector, int (*op)(void *state, struct xp_err *reterr), struct xp_err *reterr)
{
	xp_auto_err err = {};

	if (!op(collector->state, &err))
		return 0;
	if (!collector->optional)
		return xp_err_move(reterr, &err);
	xp_err_move(&collector->err, &err);
	collector->out = true;
	return 0;
}

static int prepare_all(struct xp_window_run *run, struct xp_err *reterr)
{
	for (size_t i = 0; i < run->n; i++) {
		int r = xp_window_step(&run->collectors[i], run->collectors[i].ops->prepare, reterr);

		if (r)
			return r;
	}
	return 0;
}

/* CLEANUP_FAILED outranks what failed before it, except the target's identity; the hidden code stays readable (contract 1.5). */
static void add_failure(struct xp_err *first, struct xp_err *cleanup)
{
	if (!first->code) {
		xp_err_move(first, cleanup);
	} else if (cleanup->code == XP_E_CLEANUP_FAILED && first->code != XP_E_TARGET_EXITED && first->code != XP_E_TARGET_REUSED) {
		xp_err_detail(cleanup, "original_error_code", json_string(xp_err_name(first->code)));
		xp_err_move(first, cleanup);
	} else {
		xp_err_detail(first, "cleanup_error_code", json_string(xp_err_name(cleanup->code)));
	}
}

static void disarm_one(struct xp_collector *collector, struct xp_err *failure)
{
	xp_auto_err err = {};

	if (collector->ops->disarm(collector->state, &err))
		add_failure(failure, &err);
}

/* Backwards over everything whose arm was tried; an optional one that refused was disarmed there and then. */
static void disarm_all(struct xp_window_run *run, struct xp_err *failure)
{
	uint64_t begin_ns = xp_window_now();
	xp_auto_err late = {};

	for (size_t i = run->n_armed; i-- > 0;)
		if (run->armed[i])
			disarm_one(&run->collectors[i], failure);
	uint64_t took_ns = xp_window_now() - begin_ns;

	run->window->cost.detach_ms = (double)took_ns / XP_NS_PER_MS;
	if (took_ns <= DISARM_LIMIT_NS)
		return;
	xp_fail(&late, XP_E_CLEANUP_FAILED, "taking the probes off took %.1f s", (double)took_ns / XP_NS_PER_S);
	add_failure(failure, &late);
}

static int check_ready_in_time(struct xp_window_run *run, struct xp_err *reterr)
{
	if (xp_window_now() < run->deadline_ns)
		return 0;
	xp_fail(reterr, XP_E_SESSION_LIMIT_EXCEEDED, "the probes were not ready within %llu ms",
		(unsigned long long)run->bounds->timeout_ms);
	xp_err_limit(reterr, "timeout_ms", run->bounds->timeout_ms, 1, 3600000);
	return -XP_E_SESSION_LIMIT_EXCEEDED;
}

/* A target that is gone takes its collectors with it; the command ends only when no other is left. */
static int check_before(struct xp_window_run *run, size_t i, struct xp_err *reterr)
{
	struct xp_collector *collector = &run->collectors[i];
	struct xp_window_target *target = &run->targets[collector->of];
	xp_auto_err gone = {};

	if (!xp_target_check(target->target, &gone))
		return 0;
	target->gone = true;
	if (!collector->optional || xp_window_all_gone(run))
		return xp_err_move(reterr, &gone);
	xp_err_move(&collector->err, &gone);
	collector->out = true;
	return 0;
}

static int arm_one(struct xp_window_run *run, size_t i, struct xp_err *reterr)
{
	struct xp_collector *collector = &run->collectors[i];
	xp_auto_err cleanup = {};
	int r = check_before(run, i, reterr);

	if (r || collector->out)
		return r;
	run->armed[i] = true;
	run->n_armed = i + 1;
	r = xp_window_step(collector, collector->ops->arm, reterr);
	if (!r && collector->out) {
		disarm_one(collector, &cleanup);
		run->armed[i] = false;
		if (cleanup.code)
			r = xp_err_move(reterr, &cleanup);
	}
	return r;
}

/* Sets run->interrupted instead of failing when a signal came first. */
static int arm_all(struct xp_window_run *run, struct xp_err *reterr)
{
	uint64_t begin_ns = xp_window_now();

	run->deadline_ns = begin_ns + run->bounds->timeout_ms * XP_NS_PER_MS;
	for (size_t i = 0; i < run->n; i++) {
		int r = 0;

		run->interrupted = xp_interrupts() > 0;
		if (run->interrupted)
			return 0;
		if (!run->collectors[i].out)
			r = arm_one(run, i, reterr);
		if (!r)
			r = check_ready_in_time(run, reterr);
		if (r)
			return r;
	}
	run->window->cost.attach_ms = ms_between(begin_ns, xp_window_now());
	return 0;
}

/* A target whose CPU clock cannot be read has a null cost share and no cost limit (contract 15.2). */
static void start_clock(struct xp_window_target *target)
{
	xp_auto_err no_clock = {};

	target->cpu_known = xp_target_cpu_ns(target->target, &target->cpu_base_ns, &no_clock) == 0;
	target->cpu_last_ns = target->cpu_base_ns;
}

static int open_all(struct xp_window_run *run, struct xp_err *reterr)
{
	struct xp_window *window = run->window;

	for (size_t i = 0; i < run->n_targets; i++)
		start_clock(&run->targets[i]);
	window->start_ns = xp_window_now();
	window->opened = true;
	for (size_t i = 0; i < run->n; i++) {
		struct xp_collector *collector = &run->collectors[i];
		xp_auto_err err = {};

		if (collector->out || !collector->ops->open(collector->state, window->start_ns, &err))
			continue;
		if (!collector->optional)
			return xp_err_move(reterr, &err);
		xp_err_move(&collector->err, &err);
		collector->out = true;
	}
	return 0;
}

static void close_all(struct xp_window_run *run)
{
	struct xp_window *window = run->window;

	window->end_ns = xp_window_now();
	for (size_t i = 0; i < run->n; i++)
		if (run->armed[i])
			run->collectors[i].ops->close_window(run->collectors[i].state, window->end_ns);
	for (size_t i = 0; i < run->n_targets; i++) {
		xp_window_read_cpu(&run->targets[i]);
		run->targets[i].exec_seen |= xp_target_exec_changed(run->targets[i].target);
	}
}

/* The last look at the identity. A target that went while the window was closing has left a capture that may lack its end. */
static void check_after(struct xp_window_run *run)
{
	for (size_t i = 0; i < run->n_targets; i++) {
		xp_auto_err gone = {};

		run->targets[i].gone |= xp_target_check(run->targets[i].target, &gone) != 0;
	}
	if (run->window->end != XP_END_FAILED && xp_window_all_gone(run))
		run->window->end = XP_END_TARGET_GONE;
}

/*
 * Nice value at which one busy thread of ours takes at most a twentieth of `cpus` busy ones: w / (w + 1024) <= cpus / 20, with the weights
 * w of kernel/sched/core.c (1024 at nice 0, a fifth less a step).
 */
static int guest_nice(unsigned cpus)
{
	static const struct {
		unsigned cpus;
		int nice;
	} steps[] = { { 10, 0 }, { 8, 2 }, { 6, 4 }, { 4, 7 }, { 3, 8 }, { 2, 10 } };

	for (size_t i = 0; i < XP_LEN(steps); i++)
		if (cpus >= steps[i].cpus)
			return steps[i].nice;
	return 14;
}

static unsigned usable_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);
}

/*
 * What follows a capture is analysis: a guest beside a busy target takes at most 5 % of its CPUs. At the lowest priority of all, half a
 * second of work would take half a minute on a machine without a free CPU. Refusal changes nothing.
 */
static void step_back(void)
{
	setpriority(PRIO_PROCESS, 0, guest_nice(usable_cpus()));
}

static void run_open_window(struct xp_window_run *run, struct xp_err *failure)
{
	if (open_all(run, failure) || xp_window_wait(run, failure))
		run->window->end = XP_END_FAILED;
	close_all(run);
	check_after(run);
	xp_window_fill_cost(run);
}

int xp_window_run_all(struct xp_collector *collectors, size_t n, struct xp_window_target *targets, size_t n_targets,
		      const struct xp_window_bounds *bounds, struct xp_window *ret_window, struct xp_err *reterr)
{
	xp_auto(xp_free) void *armed = calloc(n ? n : 1, sizeof(bool));
	struct xp_window_run run = {
		.collectors = collectors,
		.n = n,
		.targets = targets,
		.n_targets = n_targets,
		.bounds = bounds,
		.window = ret_window,
		.armed = armed,
	};
	xp_auto_err failure = {};

	*ret_window = (struct xp_window){ .end = XP_END_FAILED, .cost.limit = bounds->max_cost };
	if (!armed)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "%zu collectors", n);
	if (prepare_all(&run, &failure))
		return xp_err_move(reterr, &failure);
	if (!arm_all(&run, &failure)) {
		if (run.interrupted)
			ret_window->end = XP_END_SIGNAL;
		else
			run_open_window(&run, &failure);
	}
	disarm_all(&run, &failure);
	for (size_t i = 0; i < n_targets; i++)
		targets[i].cost.detach_ms = ret_window->cost.detach_ms;
	step_back();
	return failure.code ? xp_err_move(reterr, &failure) : 0;
}

int xp_window_run(struct xp_collector *collectors, size_t n, struct xp_target *target, const struct xp_window_bounds *bounds,
		  struct xp_window *ret_window, struct xp_err *reterr)
{
	struct xp_window_target one = { .target = target };

	return xp_window_run_all(collectors, n, &one, 1, bounds, ret_window, reterr);
}
