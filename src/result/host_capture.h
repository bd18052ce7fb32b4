/* SPDX-License-Identifier: Apache-2.0 */
/* HostCaptureResult, contract 10.14: what `dev uprobe` prints and --input reads. */
#ifndef XP_RESULT_HOST_CAPTURE_H
#define XP_RESULT_HOST_CAPTURE_H

#include "result/event_record.h"
#include "target/target.h"

struct xp_host_capture {
	const char *session_id;
	struct xp_target_id target;
	uint32_t probe_id;
	uint64_t captured, dropped;
	bool timed_out;
	struct xp_opt_bool record_limit_reached;
	const struct xp_event_doc *events;
	size_t n_events;
};
extern const struct xp_record xp_host_capture_record; /* "HostCaptureResult" */

#endif
