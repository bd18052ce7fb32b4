/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What takes part in a window. Exact captures and every inventory are collectors; collect/window.c runs any set of them through one
 * window, arming in order and disarming in reverse. Only that loop waits.
 */
#ifndef XP_COLLECT_COLLECTOR_H
#define XP_COLLECT_COLLECTOR_H

#include "base/field.h"
#include "target/target.h"

enum xp_window_end {
	XP_END_DURATION,
	XP_END_SAMPLES,
	XP_END_CAPACITY,
	XP_END_TIMEOUT,
	XP_END_COST,
	XP_END_SIGNAL,
	XP_END_TARGET_GONE,
	XP_END_FAILED,
	XP_WINDOW_END_COUNT
};

/* Contract 15.1, one entry of `sources`. emitted = delivered + dropped + filtered. */
struct xp_account {
	const char *source;
	uint64_t emitted, delivered, dropped, filtered, still_open;
	struct xp_count *dropped_reasons; /* in the session's arena */
	size_t n_dropped_reasons;
};
extern const struct xp_record xp_account_record;

struct xp_collector_ops {
	const char *name;
	/* Everything expensive that touches nothing of the target: load programs, size tables, measure floors. */
	int (*prepare)(void *state, struct xp_err *reterr);
	/* Attach. After success every probe is live, but nothing is kept until open. */
	int (*arm)(void *state, struct xp_err *reterr);
	/* The window starts at start_ns (CLOCK_MONOTONIC): take base readings, let events in. Must be quick. */
	int (*open)(void *state, uint64_t start_ns, struct xp_err *reterr);
	/* Called about every 10 ms, and when poll_fd is readable: fetch what the kernel has. */
	int (*drain)(void *state, struct xp_err *reterr);
	/* One switch: no more events from here on; take end readings. Never fails; what it could not do, disarm reports. */
	void (*close_window)(void *state, uint64_t end_ns);
	/* Detach everything and fetch the rest. CLEANUP_FAILED when something may be left behind. Also after a failed arm. */
	int (*disarm)(void *state, struct xp_err *reterr);
	/* Why the window must end now for this collector, or -1: enum xp_window_end. NULL: never. */
	int (*want_end)(void *state);
	/* ns of target CPU time that this collector has cost so far (events x floor of their kind), and how many events. */
	void (*cost)(void *state, uint64_t *ret_ns, uint64_t *ret_events);
	/* Dearest probe in use, ns; 0 = none. NULL: none. */
	uint64_t (*floor_ns)(void *state);
	/* -1 or a descriptor whose becoming readable (edge) calls drain early; drain empties it. Asked once, before open. NULL: none. */
	int (*poll_fd)(void *state);
	/* Processes that the target forked in the window, as far as seen. NULL: not watched. */
	uint32_t (*children)(void *state);
};

struct xp_collector {
	const struct xp_collector_ops *ops;
	void *state;
	bool optional;	   /* a failure of prepare, arm or drain takes this collector out (see failed) and the window goes on (triage) */
	bool out;	   /* set by the loop: taken out, `err` says why */
	struct xp_err err; /* owned by the collector's owner; release with xp_err_done */
	size_t of;	   /* index of its target among those of the window */
};

struct xp_window_bounds {
	uint64_t duration_ms; /* 0: none */
	uint64_t timeout_ms;  /* attach + window */
	double max_cost;      /* share of the target's CPU; 0: no limit */
	const char *progress; /* non-NULL: a line on stderr is wanted for long windows (collect calls the hook below) */
	void (*on_progress)(void *arg, uint64_t elapsed_ms);
	void *progress_arg;
};

/* Contract 15.2. */
struct xp_cost {
	struct xp_opt_u64 probe_floor_ns;
	uint64_t probe_events;
	struct xp_opt_u64 target_cpu_ns;
	struct xp_opt_f64 cpu_share;
	double attach_ms, detach_ms;
	struct xp_opt_f64 stall_ms;
	struct xp_opt_u64 residual_ns_per_launch;
	double limit;
	bool limit_reached;
};
extern const struct xp_record xp_cost_record; /* "Cost" */

struct xp_window {
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	enum xp_window_end end;
	bool opened;	   /* false: the command ended before the window */
	bool exec_seen;	   /* target_exec */
	uint32_t children; /* processes forked by the target in the window, as far as seen */
	struct xp_cost cost;
};

/*
 * Runs prepare, identity check, arm, window, close_window, disarm for `n` collectors on one target (several: collect/targets.h).
 * A signal (xp_interrupts) ends the window; a second one skips what is not clean-up. Steps behind the window always run.
 * Returns 0 with *ret_window set also when the window ended early; errors: of a non-optional collector, TARGET_EXITED/REUSED before
 * the window, SESSION_LIMIT_EXCEEDED (not ready in time), CLEANUP_FAILED. *ret_window is filled as far as it went in every case.
 */
int xp_window_run(struct xp_collector *collectors, size_t n, struct xp_target *target, const struct xp_window_bounds *bounds,
		  struct xp_window *ret_window, struct xp_err *reterr);

/* Number of SIGINT/SIGTERM/SIGHUP so far; the handler lives in main.c (the one mutable global of the tool). */
int xp_interrupts(void);

#endif
