/* SPDX-License-Identifier: Apache-2.0 */
/* The field table of HostCaptureResult. No state. */
#include "result/host_capture.h"

static const struct xp_field capture_fields[] = {
	XP_FIELD_CONST("schema_version", "2.0", "version of this record"),
	XP_FIELD_TRUE("ok", "the command succeeded"),
	XP_FIELD(xp_host_capture, session_id, STR, "session that captured"),
	XP_FIELD_OBJ(xp_host_capture, target, &xp_target_id_record, "the process"),
	XP_FIELD(xp_host_capture, probe_id, U32, "number that the caller gave the probe"),
	XP_FIELD(xp_host_capture, captured, U64, "number of events"),
	XP_FIELD(xp_host_capture, dropped, U64, "events lost to a full buffer"),
	XP_FIELD(xp_host_capture, timed_out, BOOL, "the deadline came before the samples"),
	XP_FIELD(xp_host_capture, record_limit_reached, OPT_BOOL, "the capture ended because its capacity was used up",
		 .flags = XP_OPTIONAL),
	XP_FIELD_LIST(xp_host_capture, events, &xp_event_record, "the events, by time"),
};
const struct xp_record xp_host_capture_record =
	XP_RECORD("HostCaptureResult", xp_host_capture, capture_fields, "events of one host probe", .closed = true);
