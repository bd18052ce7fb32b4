/* SPDX-License-Identifier: Apache-2.0 */
/* Records of contract 10.16 as events; shared by the reader of capture files and the collector that drains the agent. */
#ifndef XP_EVENT_CUPTI_RECORD_H
#define XP_EVENT_CUPTI_RECORD_H

#include "event/store.h"
#include "wire/capture.h"

/* What the ABIs tell apart of a record. */
struct xp_cupti_tail {
	uint32_t text;	 /* interned name, 0 = none */
	uint32_t domain; /* interned: NVTX domain, 0 = the default one or unknown */
	bool complete;
	uint32_t flags, graph; /* XP_CAPTURE_* bits of a record */
	uint64_t node;
	bool have_memory;
	uint16_t src_memory, dst_memory;
};

/* What holds for all records of a source. */
struct xp_cupti_source {
	uint64_t sequence; /* of the record at hand */
	uint64_t error_ns; /* of activities; XP_ERROR_UNKNOWN */
	uint16_t process;  /* of the store */
	bool normalized;   /* activity times are CLOCK_MONOTONIC */
};

/* Why no agent writes such a record, as the end of a sentence; NULL: it holds. Asked before anything below. */
const char *xp_cupti_record_fault(const struct xp_capture_event *record);
enum xp_event_type xp_cupti_event_type(uint32_t kind);
/* Interns what the event needs in the store; adds nothing to it. */
void xp_cupti_event(struct xp_store *store, const struct xp_cupti_source *source, const struct xp_capture_event *record,
		    const struct xp_cupti_tail *tail, struct xp_event *ret_event, struct xp_event_detail *ret_detail);

#endif
