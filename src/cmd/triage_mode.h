/* SPDX-License-Identifier: Apache-2.0 */
/* State of one `measure --triage`; everything in it lives in the session's arena. */
#ifndef XP_CMD_TRIAGE_MODE_H
#define XP_CMD_TRIAGE_MODE_H

#include "cmd/inventory_run.h"
#include "cmd/triage_cuda.h"
#include "output/artifact.h"
#include "result/triage.h"

struct xp_triage_part {
	const struct xp_inventory_kind *kind;
	enum xp_source_id id;
	void *state, *value; /* value NULL: the inventory did not finish */
};

struct xp_triage_run {
	struct xp_session *session;
	struct xp_inventory_request request;
	double max_cost;
	const char *events_out; /* NULL: no report page */
	struct xp_target *target;
	struct xp_artifact_folder *folder;
	struct xp_triage_part parts[XP_SOURCE_COUNT];
	struct xp_collector collectors[XP_SOURCE_COUNT]; /* of the same index */
	size_t n;
	struct xp_cuda_window cuda;
	struct xp_window window;
	enum xp_status status;
	struct xp_document head;
	struct xp_triage_input input;
};

/* One file a finished inventory; its source names it. TRACE_EXPORT_FAILED. */
int xp_triage_write_sources(struct xp_triage_run *run, struct xp_err *reterr);
/* next-<rank>.json for each proposed spec, then triage.json, which evidence.artifact names. TRACE_EXPORT_FAILED. */
int xp_triage_write_index(struct xp_triage_run *run, struct xp_triage *triage, struct xp_err *reterr);
/* --events-out and --format of a triage; the destination is checked. INVALID_ARGUMENT, TRACE_EXPORT_FAILED. */
int xp_triage_report_flags(const struct xp_session *session, const char **ret_path, struct xp_err *reterr);
/* The page of --events-out, where one was asked for. `inputs`: what the sources of each process saw. TRACE_EXPORT_FAILED. */
int xp_triage_write_report(const struct xp_session *session, const char *path, struct xp_triage *triage,
			   const struct xp_triage_input *const *inputs, size_t n_inputs, struct xp_err *reterr);

#endif
