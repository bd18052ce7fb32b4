/* SPDX-License-Identifier: Apache-2.0 */
/* Completed captures as input, contract 6.4: Event JSONL, HostCaptureResult JSON and CUPTI binaries become one sorted store. */
#ifndef XP_RESULT_INPUT_H
#define XP_RESULT_INPUT_H

#include "collect/collector.h"
#include "event/store.h"

enum { XP_INPUT_FILES_MAX = 64 };
#define XP_INPUT_BYTES_MAX (UINT64_C(4) << 30)

/* Envelope of every CUPTI file together; sums, but for the versions and the clock error (largest; unknown wins). */
struct xp_input_cupti {
	bool present;
	uint64_t record_capacity, observed_records, retained_records, dropped_records, unknown_records;
	bool limit_reached, not_stopped, failed;
	/* ABI 5 only: */
	bool counts_launches;
	uint64_t api_launches, graph_launches, activities_seen, in_flight_at_stop, filtered, callbacks;
	uint32_t cupti_version, driver_version, agent_abi;
	struct xp_opt_u64 stall_ns;
	uint64_t invalid_time_records; /* as the agent counted them; it kept none of them */
};

/* Sources of contract 15.1 that events of input files stand for. */
enum xp_input_source {
	XP_IN_UPROBE,
	XP_IN_SYSCALL,
	XP_IN_TRACEPOINT,
	XP_IN_USDT,
	XP_IN_CALLBACK,
	XP_IN_ACTIVITY,
	XP_IN_NVTX,
	XP_INPUT_SOURCE_COUNT
};

struct xp_input_summary {
	uint64_t events;		   /* in the files; more than the store holds when max_events was too small */
	uint64_t host_events, cuda_events; /* NVTX counts as CUDA */
	uint64_t by_source[XP_INPUT_SOURCE_COUNT];
	uint64_t host_dropped; /* of host captures */
	bool host_limit_reached;
	bool source_loss_unknown;     /* a file that cannot carry drop counters was among them */
	uint64_t invalid_time_events; /* retained with XP_EVF_INVALID_TIME */
	struct xp_input_cupti cupti;
	bool have_target; /* every event has the one process_start_time */
	struct xp_target_id target;
};

struct xp_input_options {
	uint64_t max_events;
	bool (*stop)(void); /* asked now and then; true ends reading with CANCELLED. NULL: never */
};

/*
 * Reads and merges: sorted by (timestamp, file, sequence), renumbered, one pid. TRACE_EXPORT_FAILED for what cannot be read or decoded,
 * SESSION_LIMIT_EXCEEDED for too many or too large files. Drops, limits and states are only counted: see xp_input_judge.
 * Returns owned; *ret_store and *ret_summary are set together.
 */
int xp_input_read(const char *const *paths, size_t n, const struct xp_input_options *options, struct xp_store **ret_store,
		  struct xp_input_summary *ret_summary, struct xp_err *reterr);
/*
 * The failures of contract 6.4 in its precedence: EVENTS_DROPPED, EVENT_RATE_TOO_HIGH (a capture's own limit, or more events than
 * max_events), TRACE_EXPORT_FAILED (unknown records), CUPTI_NOT_AVAILABLE (not stopped, failed).
 */
int xp_input_judge(const struct xp_input_summary *summary, uint64_t max_events, struct xp_err *reterr);
/* One account a source with events, in the arena; for summaries that xp_input_judge let pass, which lost nothing. */
struct xp_account *xp_input_accounts(const struct xp_input_summary *summary, struct xp_arena *arena, size_t *ret_n);

#endif
