/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded storage of a capture: events, what they point to, interned text. One writer, then read-only. */
#ifndef XP_EVENT_STORE_H
#define XP_EVENT_STORE_H

#include "base/field.h"
#include "event/event.h"

/* What a host event's `site` points to; strings are owned by the store's arena. */
struct xp_site {
	int probe_kind; /* enum xp_probe_kind */
	const char *binary_path, *build_id, *symbol, *symbol_demangled, *category, *provider;
	struct xp_opt_u64 offset; /* file offset of the function or marker */
};

/* Which members of xp_event_detail.gpu hold something; the others are null in the record. */
enum xp_gpu_have {
	XP_GPU_GRID = 1,
	XP_GPU_BLOCK = 2,
	XP_GPU_BYTES = 4,
	XP_GPU_START = 8,
	XP_GPU_END = 16,
	XP_GPU_DOMAIN = 32,
	XP_GPU_CALLBACK = 64,
	XP_GPU_RUNTIME_CORRELATION = 128,
	XP_GPU_MEMCPY_KIND = 256,
	XP_GPU_MEMORY = 512,
	XP_GPU_MEMSET_VALUE = 1024,
};

/* Side storage of events that carry more; which members count follows from the event's type. */
struct xp_event_detail {
	uint64_t raw_ns; /* timestamp_raw when it differs from t_ns, else 0 */
	union {
		uint64_t args[6]; /* syscall entry */
		struct {
			uint32_t grid[3], block[3];
			uint64_t bytes, start_ns, end_ns, node;
			uint32_t name, function, symbol; /* interned: kernel or API name, demangled function, unfolded API name; 0 = none */
			uint32_t mangled;		 /* interned: kernel_name_mangled */
			uint32_t callback_domain, callback_id, runtime_correlation;
			uint32_t memset_value;
			uint16_t have; /* enum xp_gpu_have */
			uint8_t memcpy_kind, src_memory, dst_memory, name_complete;
		} gpu;
		struct {
			uint64_t range_id;
			uint32_t name, start_tid;
			uint32_t domain; /* interned name; 0 = the default one, or not known */
			uint8_t name_complete, process_range;
		} nvtx;
	};
	json_t *attributes; /* offline input: the open map as read, where it says more than the event; owned by the store */
	json_t *arguments;  /* offline input: host.arguments as read, where they are not six registers; owned by the store */
};

struct xp_store;

/* capacity: retained events (contract --max-events). The store never grows past it. */
struct xp_store *xp_store_new(uint64_t capacity);
void xp_store_free(struct xp_store *store);
XP_DEFINE_AUTO(struct xp_store *, xp_store_free);

/* Copies the event in; false when the capacity is reached (the event is not kept; the caller counts it). */
bool xp_store_add(struct xp_store *store, const struct xp_event *event);
/* Frees a place that an end without a start in the window took: such ends stay out of the capacity (contract 6.3). */
void xp_store_exempt(struct xp_store *store, uint64_t n);
/* Returns the index of a new zeroed detail; valid until the store is freed, but the pointer only until the next call. */
uint32_t xp_store_detail_new(struct xp_store *store, struct xp_event_detail **ret_detail);
const struct xp_event_detail *xp_store_detail(const struct xp_store *store, const struct xp_event *event); /* NULL when none */
/* Six registers of a system call's entry and nothing else: 48 B, a third of a detail. Sets the event's detail and its flag. */
void xp_store_set_args(struct xp_store *store, struct xp_event *event, const uint64_t args[6]);
/* Those of either kind of side storage; NULL when none are known. */
const uint64_t *xp_store_args(const struct xp_store *store, const struct xp_event *event);
/* Deduplicates; index for xp_event.site. Copies the strings. */
uint32_t xp_store_site(struct xp_store *store, const struct xp_site *site);
const struct xp_site *xp_store_site_at(const struct xp_store *store, uint32_t index);
/* Interned text; index 0 is "no text" (NULL). */
uint32_t xp_store_intern(struct xp_store *store, const char *text, size_t len);
const char *xp_store_text(const struct xp_store *store, uint32_t index);
/* Index of (pid, start time); an unset start time is its own entry. */
uint16_t xp_store_process(struct xp_store *store, uint32_t pid, struct xp_opt_u64 start_time);
struct xp_opt_u64 xp_store_start_time(const struct xp_store *store, uint16_t process);
/* Last known name of a thread, for attributes.thread_name; ns ids 0 when the same as tid/pid. */
void xp_store_thread(struct xp_store *store, uint32_t tid, const char *name, uint32_t ns_tid, uint32_t ns_pid);
bool xp_store_thread_at(const struct xp_store *store, uint32_t tid, const char **ret_name, uint32_t *ret_ns_tid, uint32_t *ret_ns_pid);

uint64_t xp_store_count(const struct xp_store *store);
uint64_t xp_store_capacity(const struct xp_store *store);
struct xp_event *xp_store_events(struct xp_store *store); /* contiguous array of xp_store_count */
/* Sorts by (t_ns, sequence), stable, and renumbers sequence from 0. Side storage keeps its indices. */
void xp_store_sort(struct xp_store *store);
struct xp_arena *xp_store_arena(struct xp_store *store);

#endif
