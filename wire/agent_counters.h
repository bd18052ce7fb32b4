/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent counts in a capture (contract 15.1). */
#ifndef XP_WIRE_AGENT_COUNTERS_H
#define XP_WIRE_AGENT_COUNTERS_H

#include "wire/wire.h"

/* Counters of contract 15.1, from ARM on; written by the agent, exact once a STOP is answered. */
struct xp_agent_counters {
	__u64 callbacks;				/* times that ours ran */
	__u64 api_launches, graph_launches;		/* driver calls seen in the window */
	__u64 first_launch_ns;				/* 0: none */
	__u64 callback_records, callback_dropped;	/* written; ring full */
	__u64 activities_seen;				/* every record of a wanted kind that CUPTI gave */
	__u64 activity_records, activity_dropped;	/* as above */
	__u64 activities_grouped, activities_ungrouped; /* aggregate mode: in a group; table full */
	__u64 filtered;					/* activities in the window that no filter wants */
	__u64 outside;					/* activities that began outside the window */
	__u64 invalid_times;
	__u64 in_flight; /* launches without a record at the stop, zero-time records of the last flush included */
	__u64 cupti_dropped;
	__u64 buffers_refused; /* requests that the pool could not serve */
	__u64 names_dropped;   /* records whose name had no room */
	__u64 unknown_records;
	__u64 late_exits;	  /* exits of calls that began before the window or in an earlier capture */
	__u64 graph_predates;	  /* activities of graphs built before the capture */
	__u64 launch_unknown;	  /* kernels and graph activities without a launch call */
	__u64 stray;		  /* of them younger than the first launch seen */
	__u64 duplicate_ids;	  /* one correlation id on two launches */
	__u64 worst_violation_ns; /* kernel began this much before its launch call */
	__u64 bracket_ns;	  /* widest clock bracket in use */
	__u64 clock_steps;
	__u64 stall_ns; /* of the subscription, when it was the process's first */
	__u64 contexts;
	__u64 stop_ns;			      /* how long the last stop took */
	__u64 memory_bytes;		      /* the most that this capture takes of the target's memory, CUPTI's own apart */
	__u64 armed_ns;			      /* CLOCK_MONOTONIC, when callbacks and kinds began to go on */
	__u64 gate_ns;			      /* how long the stop held launching and loading calls; 0: it did not */
	__u64 left_on;			      /* XP_AGENT_LEFT_*: kinds stay on; 0: they are off */
	__u64 residual_ns, residual_launches; /* what stays on a launch, by so many timed ones; 0 of them: not measured */
};
XP_WIRE_SIZE(struct xp_agent_counters, 288);

#endif
