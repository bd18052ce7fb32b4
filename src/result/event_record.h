/* SPDX-License-Identifier: Apache-2.0 */
/* The Event of contract 10.1: its struct, its field table, and both ways between it and the store. */
#ifndef XP_RESULT_EVENT_RECORD_H
#define XP_RESULT_EVENT_RECORD_H

#include "event/store.h"

enum { XP_NAME_MAX_ARTIFACT = 4096, XP_NAME_MAX_RESULT = 256, XP_SESSION_ID_MAX = 128 };

struct xp_argument_doc {
	uint16_t index;
	const char *abi_type;
	json_t *value;
	const char *read_error;
};

struct xp_event_host_doc {
	int probe_kind; /* enum xp_probe_kind */
	const char *binary_path, *build_id, *symbol, *symbol_demangled;
	struct xp_opt_u64 offset;
	struct xp_opt_i64 return_value;
	const struct xp_argument_doc *arguments;
	size_t n_arguments;
};

struct xp_dim3_doc {
	uint32_t x, y, z;
};

struct xp_event_cuda_doc {
	struct xp_opt_u32 device_id, context_id;
	struct xp_opt_u64 stream_id;
	struct xp_opt_u32 correlation_id, runtime_correlation_id, callback_domain, callback_id;
	const char *kernel_name, *kernel_name_mangled;
	struct xp_opt_u64 start_ns, end_ns;
	const struct xp_dim3_doc *grid, *block;
	struct xp_opt_u64 bytes;
	int memcpy_kind; /* enum xp_memcpy_kind; -1 is null */
};

enum xp_range_kind { XP_RANGE_THREAD, XP_RANGE_PROCESS, XP_RANGE_KIND_COUNT };

struct xp_event_nvtx_doc {
	const char *name;
	bool name_complete;
	int range_kind; /* enum xp_range_kind */
	uint64_t range_id;
	uint32_t start_tid;
};

struct xp_event_doc {
	const char *session_id; /* NULL inside results, where a sparse record leaves it out */
	const char *event_id;
	uint64_t sequence;
	int source, event_type; /* enum xp_event_source, enum xp_event_type */
	uint32_t pid, tid;
	struct xp_opt_u32 cpu;
	uint64_t timestamp_raw, timestamp_ns;
	int clock_domain; /* enum xp_clock_domain */
	struct xp_opt_u64 timestamp_error_ns, process_start_time;
	const struct xp_event_host_doc *host;
	const struct xp_event_cuda_doc *cuda;
	const struct xp_event_nvtx_doc *nvtx;
	json_t *attributes; /* NULL is {} */
};
extern const struct xp_record xp_event_record;	    /* "Event" */
extern const struct xp_record xp_event_nvtx_record; /* "EventNvtx" */

/*
 * The document of one stored event; text, sub-documents and JSON live in `arena` or in the store. Names are cut to 4,096 bytes.
 * Writers of many events reset a scratch arena (xp_arena_reset) behind each.
 */
void xp_event_doc_make(const struct xp_store *store, const struct xp_event *event, const char *session_id, struct xp_arena *arena,
		       struct xp_event_doc *ret_doc);
/* Cuts every name to `max` bytes, in a copy; a cut shows as name_complete false, else as a final U+2026 (contract 1.1). */
void xp_event_doc_cut(struct xp_event_doc *doc, size_t max, struct xp_arena *arena);
/*
 * The reverse: the event, its side storage made in `store`; the caller adds it (xp_store_add). Endpoint bits stay 0. Documents whose
 * sub-object does not fit their type, and more than 1,024 process identities, are TRACE_EXPORT_FAILED.
 */
int xp_event_from_doc(const struct xp_event_doc *doc, struct xp_store *store, struct xp_event *ret_event, struct xp_err *reterr);

/* event_attributes.c: the open map as the store alone would write it; returns owned, NULL when it is empty. */
json_t *xp_event_attributes(const struct xp_store *store, const struct xp_event *event, const struct xp_event_detail *detail,
			    const struct xp_site *site);
/* What the map says of the event: sp, goroutine, compat, graph ids, ... Keys with an unexpected type say nothing. */
void xp_event_read_attributes(const json_t *attributes, struct xp_store *store, struct xp_event *event, struct xp_event_detail *detail);

#endif
