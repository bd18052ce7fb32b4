/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readings of every thread of one process: a base at the window's start, cheap sweeps in it, an end. Threads that come are added with
 * base 0 (their counters began at 0), threads that go keep their last reading. What was missed shows against the process's own total.
 */
#ifndef XP_ENGINE_PROC_POLL_H
#define XP_ENGINE_PROC_POLL_H

#include "base/err.h"
#include "engine/proc_parse.h"

struct xp_proc_reading {
	uint64_t t_ns; /* CLOCK_MONOTONIC */
	struct xp_schedstat sched;
};

struct xp_proc_thread {
	uint32_t tid;
	int fd;		     /* kept schedstat, -1 = opened anew each time */
	bool started, ended; /* seen to come, seen to go, in the window */
	bool known;	     /* comm and state were read at least once */
	char state;	     /* at the last look; 0 = never */
	char comm[64];	     /* raw bytes */
	uint64_t start_ticks;
	struct xp_proc_reading base, last;
	uint64_t moved_ns;	    /* time of the last sweep in which the counters moved */
	uint64_t runnable_since_ns; /* since then every look showed R and unmoved counters; 0 = not so */
	uint64_t base_faults, faults;
	uint64_t base_voluntary, base_involuntary;
	struct xp_proc_status status;
	int64_t syscall_nr; /* where a thread that never moved sat at the end; -1: not read */
	char wchan[64];	    /* kernel function it waits in; "": not read */
};

struct xp_proc_poll;

/*
 * Takes task_fd (/proc/PID/task) in every case. keep_fds: how many descriptors may be kept, 0 = as RLIMIT_NOFILE allows (the soft
 * limit is raised to the hard one). max_threads: rows; threads beyond are counted by xp_proc_poll_missed. Returns owned.
 */
int xp_proc_poll_new(int task_fd, size_t max_threads, size_t keep_fds, struct xp_proc_poll **ret_poll, struct xp_err *reterr);
void xp_proc_poll_free(struct xp_proc_poll *poll);
XP_DEFINE_AUTO(struct xp_proc_poll *, xp_proc_poll_free);

/* The base of every thread alive now: schedstat of all first, so that begin and end sweep in the same rhythm; then stat and status. */
int xp_proc_poll_begin(struct xp_proc_poll *poll, struct xp_err *reterr);
/* Newcomers, leavers, new counters. Looks at the state only of threads that moved or were runnable. TARGET_EXITED: no thread is left. */
int xp_proc_poll_sweep(struct xp_proc_poll *poll, struct xp_err *reterr);
/* A sweep, then stat and status of all. A process that is gone keeps its last readings; not an error. */
void xp_proc_poll_end(struct xp_proc_poll *poll);

const struct xp_proc_thread *xp_proc_poll_threads(const struct xp_proc_poll *poll, size_t *ret_n);
/* Threads that found no row. */
uint64_t xp_proc_poll_missed(const struct xp_proc_poll *poll);
/* Sweeps so far and the CPU time of xprobe that they took. */
uint64_t xp_proc_poll_sweeps(const struct xp_proc_poll *poll, uint64_t *ret_cpu_ns);

#endif
