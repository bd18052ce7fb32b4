/* SPDX-License-Identifier: Apache-2.0 */
/* State of one `measure --triage`; everything in it lives in the session's arena. */
#ifndef XP_CMD_TRIAGE_MODE_H
#define XP_CMD_TRIAGE_MODE_H

#include "cmd/inventory_run.h"
#include "cmd/triage_cuda.h"
#include "cmd/triage_targets.h"
#include "collect/targets.h"
#include "inventory/peers.h"
#include "output/artifact.h"
#include "result/triage.h"

struct xp_triage_part {
	const struct xp_inventory_kind *kind;
	enum xp_source_id id;
	void *state, *value; /* value NULL: the inventory did not finish */
	struct xp_collector *collector;
};

/* One process and its sources. */
struct xp_triage_process {
	struct xp_target *target;
	struct xp_window_target *watch; /* what the window found out about it */
	uint32_t parent_pid;
	uint64_t ancestors; /* bit i: process i of the run is above it */
	const char *executable;
	const char *folder; /* subfolder of its files; NULL: the run's own */
	struct xp_triage_part parts[XP_SOURCE_COUNT];
	size_t n;
	bool cuda_wanted; /* the agent can come */
	struct xp_cuda_window cuda;
	struct xp_window window; /* the common one, with this process's cost and forks */
	enum xp_status status;
	struct xp_document head;
	struct xp_triage_input input;
};

struct xp_triage_run {
	struct xp_session *session;
	struct xp_inventory_request request;
	double max_cost;
	const char *events_out; /* NULL: no report page */
	struct xp_triage_choice choice;
	struct xp_triage_targets targets;
	struct xp_peer_targets peers;	     /* of several processes */
	struct xp_triage_process *processes; /* targets.n, in their order */
	struct xp_window_target *watched;    /* of the same index */
	struct xp_collector *collectors;     /* source by source, in each the processes */
	size_t n_collectors;
	struct xp_artifact_folder *folder;
	struct xp_window window;
	enum xp_status status;
};

/* True for the result with `processes`: more than one --pid, or --tree. */
static inline bool xp_triage_several(const struct xp_triage_run *run)
{
	return run->choice.n > 1 || run->choice.tree;
}

/* triage_process.c: opens every source of every process as an optional collector. Only a mistake of the caller fails the command. */
int xp_triage_open_sources(struct xp_triage_run *run, struct xp_err *reterr);
/* After the window: values become what rules may use, or reasons. */
void xp_triage_finish(struct xp_triage_run *run, struct xp_triage_process *process);
void xp_triage_free_sources(struct xp_triage_run *run);

/* triage_result.c: who descends from whom, before anything can end. */
void xp_triage_relate(struct xp_triage_run *run);
/* Rules, from descendants to ancestors, and the one result. evidence.artifact is the caller's to set. */
struct xp_triage *xp_triage_result(struct xp_triage_run *run);

/* triage_files.c: one file a finished inventory; its source names it. TRACE_EXPORT_FAILED. */
int xp_triage_write_sources(struct xp_triage_run *run, struct xp_triage_process *process, struct xp_err *reterr);
/* next-<rank>.json for each proposed spec, then triage.json, which evidence.artifact names. TRACE_EXPORT_FAILED. */
int xp_triage_write_index(struct xp_triage_run *run, struct xp_triage *triage, struct xp_err *reterr);
/* triage_report.c: --events-out and --format of a triage; the destination is checked. INVALID_ARGUMENT, TRACE_EXPORT_FAILED. */
int xp_triage_report_flags(const struct xp_session *session, const char **ret_path, struct xp_err *reterr);
/* The page of --events-out, where one was asked for. `inputs`: what the sources of each process saw. TRACE_EXPORT_FAILED. */
int xp_triage_write_report(const struct xp_session *session, const char *path, struct xp_triage *triage,
			   const struct xp_triage_input *const *inputs, size_t n_inputs, struct xp_err *reterr);

#endif
