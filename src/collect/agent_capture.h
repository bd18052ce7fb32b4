/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One capture by the agent of a target, whatever its mode: armed and stopped within bounds, its lease renewed by drain ticks. Put
 * collectors that use it last in the window's list: they are armed last and stopped first, so that no slow step of another lets the lease
 * pass.
 */
#ifndef XP_COLLECT_AGENT_CAPTURE_H
#define XP_COLLECT_AGENT_CAPTURE_H

#include "base/field.h"
#include "engine/agent_link.h"

struct xp_agent_options {
	const char *session;	/* told to other tools as the holder */
	const char *cupti_path; /* libcupti for a target that maps none; NULL: none */
	uint32_t cuda_major;	/* 0: the only one */
	bool records_only;	/* activities without a subscription */
	uint64_t deadline_ms;	/* the agent ends the capture by itself after this; 0: an hour */
};

struct xp_agent_capture {
	struct xp_target *target; /* borrowed */
	struct xp_agent_options options;
	struct xp_agent_request request; /* mode, filters, capacity: filled by who uses it before arming */
	struct xp_agent_link *link;	 /* owned, from arm on */
	bool armed, stopped, wants_nvtx;
	uint64_t open_ns, close_ns;
	struct xp_agent_identity identity;
	struct xp_agent_counters counters; /* exact when stopped */
	struct xp_agent_nvtx nvtx;	   /* the same */
	uint64_t clock_error_ns;	   /* the same; of times that application threads took */
	char cupti_path[513];
};

/* Called while a step waits, so that the ring does not fill; its result is the step's. */
typedef int xp_agent_idle_fn(void *arg, struct xp_err *reterr);

/*
 * Waits at most 2 s for the answer: SESSION_LIMIT_EXCEEDED (call cuptiSubscribe) then, and the agent undoes what it began as soon as it
 * can. UNSUPPORTED_TARGET: the target's clock is another one. Else the errors of xp_agent_link_*.
 */
int xp_agent_capture_arm(struct xp_agent_capture *capture, struct xp_err *reterr);
void xp_agent_capture_open(struct xp_agent_capture *capture, uint64_t start_ns);
/* Renews the lease. CUPTI_NOT_AVAILABLE, or EVENTS_DROPPED (capture_state failed) when the agent ended the capture by itself. */
int xp_agent_capture_tick(struct xp_agent_capture *capture, struct xp_err *reterr);
void xp_agent_capture_close(struct xp_agent_capture *capture, uint64_t end_ns);
/*
 * Stops within 5 s, calling `idle` meanwhile and once behind, and takes the counters. CLEANUP_FAILED when the agent did not answer; a
 * target that is gone has nothing to clean up. Also after a failed arm.
 */
int xp_agent_capture_stop(struct xp_agent_capture *capture, xp_agent_idle_fn *idle, void *arg, struct xp_err *reterr);
void xp_agent_capture_done(struct xp_agent_capture *capture);

/* What the capture says of itself (contract 15.1, 15.2). */
struct xp_agent_facts {
	struct xp_agent_identity identity;
	struct xp_agent_counters counters;
	struct xp_agent_nvtx nvtx;
	const char *cupti_path;
	uint64_t clock_error_ns; /* without the extra of the first seconds, see xp_agent_clock_error */
	bool clock_stepped, records_only, correlation_unreliable;
	bool nvtx_partial;		    /* NVTX calls of some copies of the header could not be seen, or some ranges not named */
	bool collection_dead;		    /* launches, and not one activity */
	bool activities;		    /* GPU activities were wanted */
	bool holds_launches, kinds_left_on; /* before CUPTI 13.0 U1, contract 10.17 */
	const char *cupti_caveat;	    /* NULL: none */
	struct xp_opt_f64 arm_ms;	    /* of the process's first subscription */
	struct xp_opt_f64 stall_ms;	    /* the longer one of it and the stop's hold */
	struct xp_opt_u64 residual_ns_per_launch;
};
struct xp_agent_facts xp_agent_capture_facts(const struct xp_agent_capture *capture);
/* Bound of the error of an activity's time: wider in the first seconds of the process's first subscription. */
uint64_t xp_agent_clock_error(const struct xp_agent_facts *facts, uint64_t t_ns);

#endif
