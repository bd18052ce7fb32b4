/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that handle callbacks, activities and their output do for each other. */
#ifndef XP_AGENT_WORK_H
#define XP_AGENT_WORK_H

#include "agent/agent.h"

/* callback.c */
cupti_callback_fn xp_agent_callback;
int xp_agent_want_apis(void);
void xp_agent_shards_begin(void);
void xp_agent_sum_shards(struct xp_agent_counters *counters);
/* stop.c: into the capture's counters. */
void xp_agent_count_lost(void);
/* The launch of this id in this capture, or NULL. */
struct launch *xp_agent_launch(uint32_t correlation);
/* Launches that returned and have no record yet. */
uint64_t xp_agent_unmatched(void);
/* No record will come any more: launches that made nodes of a graph are no launches. */
void xp_agent_launches_settled(void);

/* graph.c */
void xp_agent_note_graph(uint16_t want, const struct cupti_callback_data *data);
bool xp_agent_known_exec(const struct cupti_callback_data *data);

/* activity.c, buffer.c */
int xp_agent_buffers_new(void);
cupti_request_fn xp_agent_buffer_request;
cupti_complete_fn xp_agent_buffer_complete;
/* Parses every completed buffer; returns the number of records. */
uint64_t xp_agent_buffers_read(void);
/* Gives every completed buffer back unread. */
void xp_agent_buffers_drop(void);
/* Records in buffers that had to be handed out again unread, since the last call. */
uint64_t xp_agent_buffers_lost(void);
/* Grows whenever records are lost for want of buffers, between two calls of xp_agent_buffers_lost. */
uint64_t xp_agent_buffers_losses(void);
/* What an earlier capture left, losses included. */
void xp_agent_buffers_forget(void);
void xp_agent_record(const uint8_t *record);

/* What activity.c takes from a record, whatever its kind. */
struct activity {
	uint32_t kind; /* XP_CAPTURE_*_START */
	uint64_t start_ns, end_ns;
	uint32_t device, context, stream, correlation, runtime_correlation;
	uint32_t graph;
	uint64_t graph_node;
	uint32_t grid[3], block[3];
	uint64_t bytes, copies;
	uint32_t copy_kind, src_memory, dst_memory;
	const char *name;
	uint32_t flags; /* XP_CAPTURE_* bits of a record */
};

/* residual.c: steps of arming and stopping; the time of one launch call, on its own thread. */
int xp_agent_residual_before(void);
void xp_agent_residual_after(void);
void xp_agent_residual_note(uint64_t ns, bool after);

/* clock.c: CUPTI's time -> CLOCK_MONOTONIC. */
void xp_agent_clock_bracket(void);
uint64_t xp_agent_clock_convert(uint64_t cupti_ns);

/* ring.c. False: the ring is full. */
bool xp_agent_ring_put(const struct xp_agent_slot *slot);
/* The same, waiting a while for the tool; on the agent's thread only. */
bool xp_agent_ring_put_slowly(const struct xp_agent_slot *slot);
void xp_agent_ring_warm(void);

/* name.c: id in the name table, 0 when it has no room. *ret_filters: those that accept the name. */
int xp_agent_names_new(void);
uint32_t xp_agent_name(const char *text, uint32_t *ret_filters, bool *ret_complete);
bool xp_agent_accepts(const struct xp_agent_filter *filter, const char *text, size_t len);

/* aggregate.c */
int xp_agent_groups_new(uint32_t capacity);
void xp_agent_group(const struct activity *activity);

#endif
