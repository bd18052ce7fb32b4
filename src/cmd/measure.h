/* SPDX-License-Identifier: Apache-2.0 */
/* The modes of `measure` (contract 6.1, 6.2) and what they share. */
#ifndef XP_CMD_MEASURE_H
#define XP_CMD_MEASURE_H

#include "cmd/command.h"
#include "collect/document.h"
#include "plan/build.h"
#include "plan/graph_spec.h"
#include "plan/spec.h"

enum xp_measure_mode {
	XP_M_EXACT = 1,
	XP_M_INPUT = 2,
	XP_M_SPEC = 4,
	XP_M_AGGREGATE = 8,
	XP_M_CPU = 16,
	XP_M_SYSCALLS = 32,
	XP_M_TRIAGE = 64,
};

/* One exact measurement as flags or a spec ask for it. */
struct xp_measure_request {
	const char *name;
	struct xp_target_id target; /* process_start_time 0: take what is there (flags) */
	bool identity_given;
	const struct xp_graph_spec *graph; /* NULL: one pair, which is: */
	const char *from, *to;
	enum xp_policy_id policy;
	struct xp_bounds bounds;
	bool allow_cxx_return, records_only;
	const char *events_out; /* NULL: private folder */
	const char *format;	/* "jsonl" */
	const char *page_out;	/* of a graph: html report beside the artifact; NULL: none */
	int evidence_mode;
	uint32_t test_ring_bytes;
};

/* Chooses the mode and runs it. */
int xp_measure_run(struct xp_session *session, struct xp_err *reterr);
int xp_measure_exact(struct xp_session *session, const struct xp_measure_request *request, struct xp_err *reterr);
int xp_measure_input(struct xp_session *session, const struct xp_measure_request *request, struct xp_err *reterr);
int xp_measure_spec(struct xp_session *session, struct xp_err *reterr);
/* mode: XP_M_CPU, XP_M_SYSCALLS; the inventory whose flag it is. */
int xp_measure_inventory(struct xp_session *session, const char *flag, struct xp_err *reterr);
/* --aggregate, and a MeasurementSpec in aggregate mode. */
int xp_measure_aggregate(struct xp_session *session, struct xp_err *reterr);
int xp_measure_aggregate_spec(struct xp_session *session, const struct xp_measurement_spec *spec, struct xp_err *reterr);
/* A SyscallAggregateSpec; `document` is borrowed. */
int xp_measure_syscall_spec(struct xp_session *session, const json_t *document, struct xp_err *reterr);
/* A CpuSamplingSpec; `document` is borrowed. */
int xp_measure_cpu_spec(struct xp_session *session, const json_t *document, struct xp_err *reterr);
int xp_measure_triage(struct xp_session *session, struct xp_err *reterr);

/* --from, --to, --match of the command line: INVALID_EVENT_SELECTOR, INVALID_CORRELATION_POLICY when missing or unknown. */
int xp_measure_pair_flags(const struct xp_session *session, struct xp_measure_request *request, struct xp_err *reterr);
/* Bounds, evidence, format and output flags of exact modes. */
int xp_measure_common_flags(const struct xp_session *session, struct xp_measure_request *request, struct xp_err *reterr);
/* The one --pid of a mode that takes one. INVALID_ARGUMENT when missing, or given more than once. */
int xp_measure_pid(const struct xp_session *session, uint32_t *ret_pid, struct xp_err *reterr);
/* Progress line on stderr for windows over 2 s when it is a terminal. */
void xp_measure_progress(struct xp_window_bounds *bounds, bool quiet);
/* Removes that line. */
void xp_measure_progress_end(const struct xp_window_bounds *bounds);
void xp_measure_request_of_spec(const struct xp_measurement_spec *spec, struct xp_measure_request *ret_request);
int xp_policy_argument(const char *text, enum xp_policy_id *ret_policy, struct xp_err *reterr);

#endif
