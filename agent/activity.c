/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One activity record of CUPTI -> records of the ring, or a group. In: a record as CUPTI laid it out, read by its stable prefix. Out: what
 * the filters want of it, and one counter for everything else. On the agent's thread.
 */
#include "agent/work.h"

#include <string.h>

#define TIME_LIMIT (1ull << 63)
/* Beyond this a kernel before its launch is no clock error but a wrong id. */
enum { BELIEVABLE_NS = 1000000 };

static uint32_t low(uint64_t value)
{
	return (uint32_t)value;
}

/* What all records have, by the same names at places of their own. */
#define COMMON_OF(kind_of, record)                                                                                                       \
	(struct activity)                                                                                                                \
	{                                                                                                                                \
		.kind = kind_of, .start_ns = (record)->start, .end_ns = (record)->end, .device = (record)->device,                       \
		.context = (record)->context, .stream = (record)->stream, .correlation = (record)->correlation,                          \
		.runtime_correlation = XP_CAPTURE_UNKNOWN_ID, .graph = (record)->graph, .graph_node = (record)->graph_node, .copies = 1, \
	}
#define PUT_COPY(record, out)                                        \
	do {                                                         \
		*(out) = COMMON_OF(XP_CAPTURE_MEMCPY_START, record); \
		(out)->bytes = (record)->bytes;                      \
		(out)->copy_kind = (record)->copy_kind;              \
		(out)->src_memory = (record)->src_kind;              \
		(out)->dst_memory = (record)->dst_kind;              \
		put_transfer(out);                                   \
	} while (0)

static void put_transfer(struct activity *out)
{
	out->grid[0] = low(out->bytes);
	out->grid[1] = low(out->bytes >> 32);
	out->grid[2] = out->copy_kind;
}

static void read_kernel(const struct cupti_kernel *record, struct activity *out)
{
	*out = COMMON_OF(XP_CAPTURE_KERNEL_START, record);
	out->name = record->name;
	for (unsigned i = 0; i < 3; i++) {
		out->grid[i] = (uint32_t)record->grid[i];
		out->block[i] = (uint32_t)record->block[i];
	}
}

static void read_memcpy(const struct cupti_memcpy *record, struct activity *out)
{
	PUT_COPY(record, out);
	out->runtime_correlation = record->runtime_correlation;
	if (xp_agent.version >= CUPTI_VERSION_12_8 && record->copies)
		out->copies = record->copies;
}

static void read_memcpy2(const struct cupti_memcpy2 *record, struct activity *out)
{
	PUT_COPY(record, out);
}

static void read_memset(const struct cupti_memset *record, struct activity *out)
{
	*out = COMMON_OF(XP_CAPTURE_MEMSET_START, record);
	out->bytes = record->bytes;
	out->block[0] = record->value;
	put_transfer(out);
}

static bool read_record(const void *record, struct activity *out)
{
	uint32_t kind;

	memcpy(&kind, record, sizeof(kind));
	switch (kind) {
	case CUPTI_KIND_CONCURRENT_KERNEL:
		read_kernel(record, out);
		return true;
	case CUPTI_KIND_MEMCPY:
		read_memcpy(record, out);
		return true;
	case CUPTI_KIND_MEMCPY2:
		read_memcpy2(record, out);
		return true;
	case CUPTI_KIND_MEMSET:
		read_memset(record, out);
		return true;
	default:
		xp_agent.control->counters.unknown_records++;
		return false;
	}
}

static void note_context(uint32_t context)
{
	struct xp_agent_counters *counters = &xp_agent.control->counters;
	const unsigned most = sizeof(xp_agent.contexts_seen) / sizeof(xp_agent.contexts_seen[0]);

	for (unsigned i = 0; i < counters->contexts && i < most; i++)
		if (xp_agent.contexts_seen[i] == context)
			return;
	if (counters->contexts < most)
		xp_agent.contexts_seen[counters->contexts++] = context;
}

static bool in_window(uint64_t start_ns)
{
	const struct xp_agent_lease *lease = &xp_agent.control->lease;

	return lease->open_ns && start_ns >= lease->open_ns && (!lease->close_ns || start_ns < lease->close_ns);
}

/* Ties the activity to its launch. Only kernels and graph nodes have one that we listen on. timed: its times can be compared. */
static void link_launch(struct activity *activity, bool timed)
{
	struct xp_agent_counters *counters = &xp_agent.control->counters;
	struct launch *launch = xp_agent_launch(activity->correlation);
	bool in_graph = activity->flags & XP_CAPTURE_IN_GRAPH;
	uint64_t entry_ns;

	if (xp_agent.request.flags & XP_AGENT_RECORDS_ONLY || (!in_graph && activity->kind != XP_CAPTURE_KERNEL_START))
		return;
	if (!launch) {
		if (!timed || !in_window(activity->start_ns))
			return;
		activity->flags |= XP_CAPTURE_LAUNCH_UNKNOWN;
		counters->launch_unknown++;
		counters->stray += counters->first_launch_ns && activity->start_ns > counters->first_launch_ns + AGENT_NS_PER_S;
		return;
	}
	__atomic_fetch_or(&launch->key, LAUNCH_SEEN, __ATOMIC_RELAXED);
	if (in_graph && xp_agent.view.graphs && !(launch->key & LAUNCH_KNOWN_EXEC)) {
		activity->flags |= XP_CAPTURE_GRAPH_PREDATES;
		counters->graph_predates++;
	}
	entry_ns = __atomic_load_n(&launch->entry_ns, __ATOMIC_RELAXED);
	if (!timed || activity->start_ns >= entry_ns)
		return;
	if (entry_ns - activity->start_ns > BELIEVABLE_NS)
		counters->stray++;
	else if (entry_ns - activity->start_ns > counters->worst_violation_ns)
		counters->worst_violation_ns = entry_ns - activity->start_ns;
}

static bool wanted_by(const struct xp_agent_filter *filter, unsigned index, const struct activity *activity, uint32_t kind, uint32_t names)
{
	if (filter->kind != kind)
		return false;
	if (activity->kind == XP_CAPTURE_KERNEL_START)
		return names & 1u << index;
	return activity->kind != XP_CAPTURE_MEMCPY_START || !filter->copy_kind || filter->copy_kind == activity->copy_kind;
}

static bool wanted(const struct activity *activity, uint32_t kind, uint32_t names)
{
	const struct xp_agent_request *request = &xp_agent.request;

	for (unsigned i = 0; i < request->n_filters; i++)
		if (wanted_by(&request->filters[i], i, activity, kind, names))
			return true;
	return false;
}

static void put(const struct activity *activity, uint32_t kind, uint64_t t_ns, uint32_t name)
{
	struct xp_agent_counters *counters = &xp_agent.control->counters;
	struct xp_agent_slot slot = {
		.event = {
			.t_ns = t_ns,
			.kind = kind,
			.pid = xp_agent.pid,
			.device = activity->device,
			.context = activity->context,
			.stream = activity->stream,
			.correlation = activity->correlation,
			.runtime_correlation = activity->runtime_correlation,
		},
		.name = name,
		.flags = activity->flags,
		.graph = activity->graph,
		.src_memory = (uint16_t)activity->src_memory,
		.dst_memory = (uint16_t)activity->dst_memory,
		.graph_node = activity->graph_node,
	};

	memcpy(slot.event.grid, activity->grid, sizeof(slot.event.grid));
	memcpy(slot.event.block, activity->block, sizeof(slot.event.block));
	if (xp_agent_ring_put_slowly(&slot))
		counters->activity_records++;
	else
		counters->activity_dropped++;
}

/* Whatever its times: what was launched behind the window did not run in it. The stop cuts such work off now and then. */
static bool came_late(const struct activity *activity)
{
	const struct launch *launch = xp_agent_launch(activity->correlation);
	uint64_t close_ns = xp_agent.control->lease.close_ns;

	return launch && close_ns && __atomic_load_n(&launch->entry_ns, __ATOMIC_RELAXED) >= close_ns;
}

/* 0/0, no end, end before start, beyond 2^63: never clamped. Those that a forced flush cut off are still running. */
static bool times_hold(const struct activity *activity)
{
	struct xp_agent_counters *counters = &xp_agent.control->counters;

	if (activity->start_ns && activity->end_ns >= activity->start_ns && activity->end_ns < TIME_LIMIT)
		return true;
	if (xp_agent.flush.forced && !activity->end_ns)
		counters->in_flight++;
	else if (came_late(activity))
		counters->outside++;
	else
		counters->invalid_times++;
	return false;
}

void xp_agent_record(const uint8_t *record)
{
	struct xp_agent_counters *counters = &xp_agent.control->counters;
	uint32_t names = 0, name = 0;
	struct activity activity;
	bool complete = true, timed, start, end;

	if (!read_record(record, &activity))
		return;
	counters->activities_seen++;
	note_context(activity.context);
	if (activity.graph_node)
		activity.flags |= XP_CAPTURE_IN_GRAPH;
	timed = times_hold(&activity);
	if (timed) {
		uint64_t start_ns = xp_agent_clock_convert(activity.start_ns);

		activity.end_ns = start_ns + (activity.end_ns - activity.start_ns);
		activity.start_ns = start_ns;
	}
	link_launch(&activity, timed);
	if (!timed)
		return;
	if (!in_window(activity.start_ns)) {
		counters->outside++;
		return;
	}
	if (activity.kind == XP_CAPTURE_KERNEL_START)
		name = xp_agent_name(activity.name ? activity.name : "", &names, &complete);
	start = wanted(&activity, activity.kind, names);
	end = xp_agent.exact && wanted(&activity, activity.kind + 1, names);
	activity.flags |= complete ? XP_CAPTURE_NAME_COMPLETE : 0;
	if (!start && !end)
		counters->filtered++;
	if (start && !xp_agent.exact)
		xp_agent_group(&activity);
	if (start && xp_agent.exact)
		put(&activity, activity.kind, activity.start_ns, name);
	if (end)
		put(&activity, activity.kind + 1, activity.end_ns, name);
}
