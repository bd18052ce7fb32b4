/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the agent's ring -> events of the store. In: the ring. Out: retained events, and counts of those that were not. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/agent_exact_priv.h"
#include "event/cupti_record.h"

/* Sequences of the agent's events lie behind the host's, which count from 0: at one nanosecond the host's comes first. */
#define FIRST_SEQUENCE (UINT64_C(1) << 48)

static bool is_activity(uint32_t kind)
{
	return kind >= XP_CAPTURE_KERNEL_START && kind <= XP_CAPTURE_MEMSET_END;
}

/* Endpoints of this event's type, by what is decisive for the type. */
static uint32_t bits_of(const struct xp_agent_exact *exact, const struct xp_capture_event_5 *record, const struct xp_event *event,
			const struct xp_event_detail *detail)
{
	const struct xp_agent_name *name = xp_agent_name_at(exact, record->name);
	uint32_t bits = 0;

	for (unsigned i = 0; i < exact->plan->n_endpoints; i++) {
		const struct xp_endpoint *endpoint = &exact->plan->endpoints[i];
		uint32_t bit = 1u << i;

		if (endpoint->type != (enum xp_event_type)event->type)
			continue;
		if (!is_activity(record->event.kind))
			bits |= name->apis[record->event.callback_domain] & bit;
		else if (record->event.kind <= XP_CAPTURE_KERNEL_END)
			bits |= record->name							  ? name->kernels & bit
				: !endpoint->cuda.pattern || endpoint->cuda.match == XP_MATCH_ANY ? bit
												  : 0;
		else if (record->event.kind <= XP_CAPTURE_MEMCPY_END)
			bits |= endpoint->cuda.memcpy_kind < 0 || endpoint->cuda.memcpy_kind == detail->gpu.memcpy_kind ? bit : 0;
		else
			bits |= bit;
	}
	return bits;
}

static uint32_t innermost_tid(const struct xp_target *target, const char *tid)
{
	char path[48], status[4096];
	const char *line, *end;

	snprintf(path, sizeof(path), "task/%.20s/status", tid);
	if (xp_target_read(target, path, status, sizeof(status)) <= 0 || !(line = strstr(status, "\nNSpid:")))
		return 0;
	end = strchr(line + 1, '\n');
	while (end && end > line && end[-1] != '\t')
		end--;
	return end ? (uint32_t)strtoul(end, NULL, 10) : 0;
}

static void list_tids(struct xp_agent_exact *exact)
{
	int fd = xp_target_openat(exact->plan->target, "task");
	DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
	bool fresh;

	for (const struct dirent *entry = tasks ? readdir(tasks) : NULL; entry; entry = readdir(tasks))
		if (entry->d_name[0] != '.') {
			uint32_t inner = innermost_tid(exact->plan->target, entry->d_name);

			*xp_map_at(&exact->tids, inner, NULL, NULL, &fresh) = strtoul(entry->d_name, NULL, 10);
		}
	if (tasks)
		closedir(tasks);
	else if (fd >= 0)
		close(fd);
}

/* The agent knows its thread by the id of its own namespace. A thread that ended before it was looked up keeps that id. */
static uint32_t outer_tid(struct xp_agent_exact *exact, uint32_t tid)
{
	const uint64_t *known;
	bool fresh;

	if (!exact->nested || !tid)
		return tid;
	known = xp_map_find(&exact->tids, tid, NULL, NULL);
	if (!known) {
		list_tids(exact);
		known = xp_map_find(&exact->tids, tid, NULL, NULL);
	}
	if (!known) {
		*xp_map_at(&exact->tids, tid, NULL, NULL, &fresh) = tid;
		return tid;
	}
	return (uint32_t)*known;
}

static void keep(struct xp_agent_exact *exact, struct xp_event *event, const struct xp_event_detail *detail)
{
	struct xp_event_detail *slot;

	if (xp_store_count(exact->store) >= xp_store_capacity(exact->store)) {
		/* Nothing more can be kept: spare the target the rest at once. */
		if (!exact->full)
			xp_agent_capture_close(&exact->capture, event->t_ns);
		exact->full = true;
		return;
	}
	event->detail = xp_store_detail_new(exact->store, &slot);
	*slot = *detail;
	xp_store_add(exact->store, event);
}

/* The ring is written by the target: what no agent writes is dropped and counted as lost. */
static void take(struct xp_agent_exact *exact, const struct xp_capture_event_5 *record)
{
	bool nvtx = xp_agent_is_nvtx(record->event.kind);
	const struct xp_cupti_source source = {
		.sequence = FIRST_SEQUENCE + exact->observed,
		.error_ns = XP_ERROR_UNKNOWN, /* known at the end */
		.process = exact->process,
		.normalized = true,
	};
	const struct xp_cupti_tail tail = {
		.text = nvtx ? xp_agent_nvtx_name(exact, record->name) : xp_agent_name_at(exact, record->name)->text,
		.domain = nvtx ? xp_agent_nvtx_name(exact, record->graph) : 0,
		.complete = record->flags & XP_CAPTURE_NAME_COMPLETE,
		.flags = record->flags,
		.graph = record->graph,
		.node = record->graph_node,
		.have_memory = true,
		.src_memory = record->src_memory,
		.dst_memory = record->dst_memory,
	};
	struct xp_event_detail detail;
	struct xp_event event;

	if (xp_cupti_record_fault(&record->event) || record->event.callback_domain >= XP_API_DOMAIN_COUNT) {
		exact->lost++;
		return;
	}
	xp_cupti_event(exact->store, &source, &record->event, &tail, &event, &detail);
	event.pid = xp_target_pid(exact->plan->target);
	event.tid = outer_tid(exact, event.tid);
	event.endpoints = nvtx ? xp_agent_nvtx_endpoints(exact, record->src_memory, event.type) : bits_of(exact, record, &event, &detail);
	if (nvtx)
		detail.nvtx.start_tid = outer_tid(exact, detail.nvtx.start_tid);
	if (!event.endpoints) {
		exact->filtered++;
		return;
	}
	exact->observed++;
	*(is_activity(record->event.kind) ? &exact->activities : &exact->callbacks) += 1;
	keep(exact, &event, &detail);
}

/* A name is in the table before the first record that uses it is complete, so names are read behind each record that lacks one. */
int xp_agent_records_read(struct xp_agent_exact *exact, struct xp_err *reterr)
{
	struct xp_capture_event_5 record;
	int r = xp_agent_names_read(exact, reterr);

	while (!r && xp_agent_link_record(exact->capture.link, &record)) {
		if (record.name && !xp_agent_is_nvtx(record.event.kind) && !xp_agent_name_at(exact, record.name)->text)
			r = xp_agent_names_read(exact, reterr);
		if (!r)
			take(exact, &record);
	}
	return r;
}
