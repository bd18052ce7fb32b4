/* SPDX-License-Identifier: Apache-2.0 */
/* What follows a capture, live or completed: correlate, write the artifact, judge, make the result or the error with its partial. */
#ifndef XP_CMD_MEASURE_FINISH_H
#define XP_CMD_MEASURE_FINISH_H

#include "cmd/measure.h"
#include "collect/agent_capture.h"
#include "output/artifact.h"
#include "result/edge.h"
#include "result/measurement.h"

enum { XP_RESULT_BUDGET = 16384, XP_PARTIAL_BUDGET = 12288 };

struct xp_captured {
	struct xp_plan *plan;
	struct xp_store *store;
	const struct xp_window *window;	   /* NULL: completed input */
	const struct xp_target_id *target; /* NULL: not known */
	const struct xp_account *sources;
	size_t n_sources;
	const struct xp_cupti_account *cupti; /* NULL: none */
	const struct xp_cuda_account *cuda;   /* NULL: no CUDA endpoint */
	const struct xp_agent_facts *agent;   /* NULL: no live CUDA capture */
	bool capacity_reached, source_loss_unknown;
	uint64_t observed_events;	   /* retained and turned away */
	uint64_t host_events, cuda_events; /* offline: every event of the files; 0 and 0: count the store */
	struct xp_artifact_folder *folder; /* NULL: only --events-out makes a file */
	enum xp_err_code identity;	   /* TARGET_EXITED or TARGET_REUSED when the target went away */
	struct xp_opt_u64 last_ns;	   /* contract 9.1 rule 2 */
};

/*
 * Takes *failure of the capture itself (may be "no error"): it becomes the command's error unless a weightier one is found. A plan whose
 * edges have names is a graph and gives a MeasurementGraphResult, another one a MeasurementResult.
 */
int xp_measure_finish(struct xp_session *session, const struct xp_measure_request *request, const struct xp_captured *captured,
		      struct xp_err *failure, struct xp_err *reterr);

/* One conclusion, as far as its edges share it. Everything it points to outlives the command's document. */
struct xp_conclusion {
	struct xp_session *session;
	const struct xp_measure_request *request;
	const struct xp_captured *captured;
	struct xp_artifact *artifact; /* NULL: none was written */
	enum xp_status status;
};

/* measure_conclude.c: steps of a conclusion, for one edge or for all of a graph. */
const struct xp_endpoint *xp_conclude_endpoint(const struct xp_conclusion *conclusion, unsigned index);
/* *ret_pairs lives in the session's arena. CLOCK_ALIGNMENT_FAILED, RESOURCE_LIMIT. */
int xp_conclude_pairs(const struct xp_conclusion *conclusion, const struct xp_edge *edge, struct xp_pairs **ret_pairs,
		      struct xp_err *reterr);
int xp_conclude_outcome(const struct xp_conclusion *conclusion, const struct xp_edge *edge, const struct xp_pairs *pairs,
			enum xp_status *ret_status, struct xp_err *reterr);
struct xp_capture_facts xp_conclude_facts(const struct xp_conclusion *conclusion);
struct xp_edge_request xp_conclude_edge(const struct xp_conclusion *conclusion, const struct xp_edge *edge, const struct xp_pairs *pairs,
					const struct xp_capture_facts *facts);
struct xp_collection xp_conclude_collection(const struct xp_conclusion *conclusion);
/* Contract 1.5: what failed first stays the code, except that identity outranks it; the hidden one is told. Takes *second. */
void xp_conclude_weigh(struct xp_err *first, struct xp_err *second);
/*
 * Writes the artifact: of live captures with at least one event always, of completed ones only where --events-out says so (contract 12,
 * 6.4). A file that cannot be written becomes the command's error; what failed first is told beside it (6.10).
 */
void xp_conclude_files(struct xp_conclusion *conclusion, struct xp_err *failure);
void xp_conclude_tell_artifact(const struct xp_conclusion *conclusion, struct xp_err *err);

/* measure_graph.c: the same for a plan of named edges. */
int xp_measure_graph_finish(struct xp_conclusion *conclusion, struct xp_err *failure, struct xp_err *reterr);

#endif
