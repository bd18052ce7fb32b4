/* SPDX-License-Identifier: Apache-2.0 */
/* What follows a capture, live or completed: correlate, write the artifact, judge, make the result or the error with its partial. */
#ifndef XP_CMD_MEASURE_FINISH_H
#define XP_CMD_MEASURE_FINISH_H

#include "cmd/measure.h"
#include "output/artifact.h"
#include "result/edge.h"
#include "result/measurement.h"

struct xp_captured {
	struct xp_plan *plan;
	struct xp_store *store;
	const struct xp_window *window;	   /* NULL: completed input */
	const struct xp_target_id *target; /* NULL: not known */
	const struct xp_account *sources;
	size_t n_sources;
	const struct xp_cupti_account *cupti; /* NULL: none */
	const struct xp_cuda_account *cuda;   /* NULL: no CUDA endpoint */
	bool capacity_reached, source_loss_unknown;
	uint64_t observed_events;	   /* retained and turned away */
	uint64_t host_events, cuda_events; /* offline: every event of the files; 0 and 0: count the store */
	struct xp_artifact_folder *folder; /* NULL: only --events-out makes a file */
	enum xp_err_code identity;	   /* TARGET_EXITED or TARGET_REUSED when the target went away */
	struct xp_opt_u64 last_ns;	   /* contract 9.1 rule 2 */
};

/* Takes *failure of the capture itself (may be "no error"): it becomes the command's error unless a weightier one is found. */
int xp_measure_finish(struct xp_session *session, const struct xp_measure_request *request, const struct xp_captured *captured,
		      struct xp_err *failure, struct xp_err *reterr);

#endif
