/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI records (contract 10.16) as events: the same for capture files and for the agent's ring. In: one record. Out: event and detail. */
#include "event/cupti_record.h"

#include <string.h>

#include "event/api_name.h"

#define TIME_LIMIT (UINT64_C(1) << 63) /* contract 9: times from 2^63 on are invalid */

static const uint8_t type_of_kind[XP_CAPTURE_KIND_COUNT] = {
	[XP_CAPTURE_API_ENTRY] = XP_EV_CUDA_API_ENTRY,	    [XP_CAPTURE_API_EXIT] = XP_EV_CUDA_API_EXIT,
	[XP_CAPTURE_KERNEL_START] = XP_EV_GPU_KERNEL_START, [XP_CAPTURE_KERNEL_END] = XP_EV_GPU_KERNEL_END,
	[XP_CAPTURE_MEMCPY_START] = XP_EV_GPU_MEMCPY_START, [XP_CAPTURE_MEMCPY_END] = XP_EV_GPU_MEMCPY_END,
	[XP_CAPTURE_MEMSET_START] = XP_EV_GPU_MEMSET_START, [XP_CAPTURE_MEMSET_END] = XP_EV_GPU_MEMSET_END,
	[XP_CAPTURE_NVTX_START] = XP_EV_NVTX_RANGE_START,   [XP_CAPTURE_NVTX_END] = XP_EV_NVTX_RANGE_END,
};

static bool is_api(uint32_t kind)
{
	return kind == XP_CAPTURE_API_ENTRY || kind == XP_CAPTURE_API_EXIT;
}

static bool is_nvtx(uint32_t kind)
{
	return kind == XP_CAPTURE_NVTX_START || kind == XP_CAPTURE_NVTX_END;
}

static uint64_t joined(const uint32_t halves[2])
{
	return (uint64_t)halves[1] << 32 | halves[0];
}

/* Contract 10.16 names five of CUPTI's directions; copies to and from arrays are `unknown`. */
static uint8_t copy_kind(uint32_t cupti)
{
	static const struct {
		uint32_t cupti;
		uint8_t kind;
	} kinds[] = { { 1, XP_COPY_HTOD }, { 2, XP_COPY_DTOH }, { 8, XP_COPY_DTOD }, { 9, XP_COPY_HTOH }, { 10, XP_COPY_PTOP } };

	for (size_t i = 0; i < XP_LEN(kinds); i++)
		if (kinds[i].cupti == cupti)
			return kinds[i].kind;
	return XP_COPY_UNKNOWN;
}

static uint8_t memory_kind(uint16_t cupti)
{
	return cupti < XP_MEMORY_KIND_COUNT ? (uint8_t)cupti : XP_MEMORY_UNKNOWN;
}

static struct xp_event head_of(const struct xp_cupti_source *source, const struct xp_capture_event *record)
{
	bool activity = !is_api(record->kind) && !is_nvtx(record->kind);
	struct xp_event event = {
		.t_ns = record->t_ns,
		.sequence = source->sequence,
		.pid = record->pid,
		.tid = activity ? 0 : record->tid,
		.type = type_of_kind[record->kind],
		.source = activity ? XP_SRC_CUPTI_ACTIVITY : XP_SRC_CUPTI_CALLBACK,
		.clock = !activity	      ? XP_CLOCK_HOST
			 : source->normalized ? XP_CLOCK_CUPTI_NORMALIZED
					      : XP_CLOCK_CUPTI,
		.process = source->process,
	};

	if (activity)
		event.error_ns = source->error_ns;
	if (record->t_ns >= TIME_LIMIT)
		event.flags |= XP_EVF_INVALID_TIME;
	return event;
}

static void put_ids(const struct xp_capture_event *record, struct xp_event *event)
{
	event->gpu.device = record->device;
	event->gpu.context = record->context;
	event->gpu.stream = record->stream;
	event->gpu.correlation = record->correlation;
	if (record->device == XP_CAPTURE_UNKNOWN_ID)
		event->flags |= XP_EVF_NO_DEVICE;
	if (record->context == XP_CAPTURE_UNKNOWN_ID)
		event->flags |= XP_EVF_NO_CONTEXT;
	if (record->stream == XP_CAPTURE_UNKNOWN_ID)
		event->flags |= XP_EVF_NO_STREAM;
	if (record->correlation == XP_CAPTURE_UNKNOWN_ID)
		event->flags |= XP_EVF_NO_CORRELATION;
}

/* The record has the name as CUPTI spells it; selectors and events use the folded one (contract 8.4). */
static void put_api(struct xp_store *store, const struct xp_cupti_tail *tail, struct xp_event *event, struct xp_event_detail *detail)
{
	const char *symbol = xp_store_text(store, tail->text);
	size_t len;

	if (!symbol)
		return;
	const char *folded = xp_api_fold(symbol, &len);
	detail->gpu.symbol = tail->text;
	detail->gpu.name = xp_store_intern(store, folded, len);
	if (xp_api_launches_graph(folded, len))
		event->flags |= XP_EVF_GRAPH_LAUNCH;
}

static void put_kernel(struct xp_store *store, const struct xp_capture_event *record, const struct xp_cupti_tail *tail,
		       struct xp_event_detail *detail)
{
	const char *name = xp_store_text(store, tail->text);

	memcpy(detail->gpu.grid, record->grid, sizeof(detail->gpu.grid));
	memcpy(detail->gpu.block, record->block, sizeof(detail->gpu.block));
	detail->gpu.have |= XP_GPU_GRID | XP_GPU_BLOCK;
	detail->gpu.name = tail->text;
	detail->gpu.name_complete = tail->complete;
	if (name && !strncmp(name, "_Z", 2))
		detail->gpu.mangled = tail->text;
}

static void put_transfer(const struct xp_capture_event *record, const struct xp_cupti_tail *tail, struct xp_event_detail *detail)
{
	detail->gpu.bytes = joined(record->grid);
	detail->gpu.have |= XP_GPU_BYTES;
	if (record->kind == XP_CAPTURE_MEMSET_START || record->kind == XP_CAPTURE_MEMSET_END) {
		detail->gpu.memset_value = record->block[0];
		detail->gpu.have |= XP_GPU_MEMSET_VALUE;
		return;
	}
	detail->gpu.memcpy_kind = copy_kind(record->grid[2]);
	detail->gpu.have |= XP_GPU_MEMCPY_KIND;
	if (tail->have_memory) {
		detail->gpu.src_memory = memory_kind(tail->src_memory);
		detail->gpu.dst_memory = memory_kind(tail->dst_memory);
		detail->gpu.have |= XP_GPU_MEMORY;
	}
}

static void put_graph(const struct xp_cupti_tail *tail, struct xp_event *event, struct xp_event_detail *detail)
{
	if (!(tail->flags & XP_CAPTURE_IN_GRAPH))
		return;
	event->gpu.graph = tail->graph;
	event->flags |= XP_EVF_GRAPH_NODE;
	detail->gpu.node = tail->node;
	if (tail->flags & XP_CAPTURE_GRAPH_PREDATES)
		event->flags |= XP_EVF_GRAPH_PREDATES;
	if (tail->flags & XP_CAPTURE_LAUNCH_UNKNOWN)
		event->flags |= XP_EVF_LAUNCH_UNKNOWN;
}

static void put_cuda(struct xp_store *store, const struct xp_capture_event *record, const struct xp_cupti_tail *tail,
		     struct xp_event *event, struct xp_event_detail *detail)
{
	bool start = record->kind % 2;

	put_ids(record, event);
	detail->gpu.memcpy_kind = XP_COPY_UNKNOWN;
	if (record->callback_domain) {
		detail->gpu.callback_domain = record->callback_domain;
		detail->gpu.callback_id = record->callback_id;
		detail->gpu.have |= XP_GPU_DOMAIN | XP_GPU_CALLBACK;
	}
	if (record->runtime_correlation && record->runtime_correlation != XP_CAPTURE_UNKNOWN_ID) {
		detail->gpu.runtime_correlation = record->runtime_correlation;
		detail->gpu.have |= XP_GPU_RUNTIME_CORRELATION;
	}
	if (is_api(record->kind)) {
		put_api(store, tail, event, detail);
	} else {
		detail->gpu.have |= start ? XP_GPU_START : XP_GPU_END;
		*(start ? &detail->gpu.start_ns : &detail->gpu.end_ns) = record->t_ns;
		if (record->kind == XP_CAPTURE_KERNEL_START || record->kind == XP_CAPTURE_KERNEL_END)
			put_kernel(store, record, tail, detail);
		else
			put_transfer(record, tail, detail);
		put_graph(tail, event, detail);
	}
	event->site = detail->gpu.name;
}

static void put_nvtx(const struct xp_capture_event *record, const struct xp_cupti_tail *tail, struct xp_event *event,
		     struct xp_event_detail *detail)
{
	detail->nvtx.name = tail->text;
	detail->nvtx.domain = tail->domain;
	detail->nvtx.range_id = joined(record->grid);
	detail->nvtx.process_range = record->grid[2] == 2;
	detail->nvtx.start_tid = record->block[0];
	detail->nvtx.name_complete = record->block[1] != 0;
	event->site = tail->text;
}

const char *xp_cupti_record_fault(const struct xp_capture_event *record)
{
	if (!record->kind || record->kind >= XP_CAPTURE_KIND_COUNT)
		return "is of an unknown kind";
	if (!record->t_ns)
		return "has the timestamp 0";
	return is_nvtx(record->kind) && record->grid[2] != 1 && record->grid[2] != 2 ? "is a range of unknown kind" : NULL;
}

enum xp_event_type xp_cupti_event_type(uint32_t kind)
{
	return type_of_kind[kind];
}

void xp_cupti_event(struct xp_store *store, const struct xp_cupti_source *source, const struct xp_capture_event *record,
		    const struct xp_cupti_tail *tail, struct xp_event *ret_event, struct xp_event_detail *ret_detail)
{
	*ret_event = head_of(source, record);
	*ret_detail = (struct xp_event_detail){ 0 };
	if (is_nvtx(record->kind))
		put_nvtx(record, tail, ret_event, ret_detail);
	else
		put_cuda(store, record, tail, ret_event, ret_detail);
}
