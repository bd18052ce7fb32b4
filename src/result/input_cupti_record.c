/* SPDX-License-Identifier: Apache-2.0 */
/* One record of a CUPTI capture file to one event. In: the record as it lies in the file. Out: an event in the merge. No state. */
#include <string.h>

#include "event/api_name.h"
#include "result/input_cupti.h"

enum { NAME_4 = 127 };
#define TIME_LIMIT (UINT64_C(1) << 63) /* contract 9: times from 2^63 on are invalid */
enum {
	API_ENTRY = 1,
	API_EXIT,
	KERNEL_START,
	KERNEL_END,
	MEMCPY_START,
	MEMCPY_END,
	MEMSET_START,
	MEMSET_END,
	NVTX_START,
	NVTX_END,
	KIND_COUNT
};

static const uint8_t type_of_kind[KIND_COUNT] = {
	[API_ENTRY] = XP_EV_CUDA_API_ENTRY,	 [API_EXIT] = XP_EV_CUDA_API_EXIT,	  [KERNEL_START] = XP_EV_GPU_KERNEL_START,
	[KERNEL_END] = XP_EV_GPU_KERNEL_END,	 [MEMCPY_START] = XP_EV_GPU_MEMCPY_START, [MEMCPY_END] = XP_EV_GPU_MEMCPY_END,
	[MEMSET_START] = XP_EV_GPU_MEMSET_START, [MEMSET_END] = XP_EV_GPU_MEMSET_END,	  [NVTX_START] = XP_EV_NVTX_RANGE_START,
	[NVTX_END] = XP_EV_NVTX_RANGE_END,
};

static int bad_record(const struct xp_cupti_file *file, struct xp_err *reterr, const char *why)
{
	return xp_input_bad(file->in, 0, reterr, "record %llu %s", (unsigned long long)file->index, why);
}

/* Bytes of a name field, or -1 for bad UTF-8. A name of full length was cut, perhaps inside a character: that character goes. */
static long name_4_len(const uint8_t *bytes)
{
	const char *name = (const char *)bytes;
	size_t len = strnlen(name, NAME_4 + 1), pos = 0;

	if (len > NAME_4)
		return -1;
	for (size_t n; pos < len; pos += n) {
		n = xp_utf8_len(name + pos, name + len);
		if (!n)
			return len == NAME_4 && len - pos < 4 && (bytes[pos] & 0xc0) == 0xc0 ? (long)pos : -1;
	}
	return (long)len;
}

/* What the two ABIs tell apart of a record. */
struct tail {
	uint32_t text; /* interned name, 0 = none */
	bool complete;
	uint32_t flags, graph;
	uint64_t node;
	bool have_memory;
	uint16_t src_memory, dst_memory;
};

static int read_tail_4(const struct xp_cupti_file *file, const struct xp_capture_event_4 *record, struct tail *ret_tail,
		       struct xp_err *reterr)
{
	long len = name_4_len(record->name);

	if (len < 0)
		return bad_record(file, reterr, "has a name that is not UTF-8 text");
	*ret_tail = (struct tail){ 0 };
	if (len)
		ret_tail->text = xp_store_intern(file->in->store, (const char *)record->name, (size_t)len);
	ret_tail->complete = strnlen((const char *)record->name, NAME_4) < NAME_4;
	return 0;
}

static int read_tail_5(const struct xp_cupti_file *file, const struct xp_capture_event_5 *record, struct tail *ret_tail,
		       struct xp_err *reterr)
{
	static const uint8_t zero[sizeof(record->zero)];
	uint32_t known = (XP_CAPTURE_NAME_COMPLETE << 1) - 1;

	*ret_tail = (struct tail){ .complete = record->flags & XP_CAPTURE_NAME_COMPLETE,
				   .flags = record->flags,
				   .graph = record->graph,
				   .node = record->graph_node,
				   .have_memory = true,
				   .src_memory = record->src_memory,
				   .dst_memory = record->dst_memory };
	if (record->flags & ~known)
		return bad_record(file, reterr, "has unknown flags");
	if (memcmp(record->zero, zero, sizeof(zero)))
		return bad_record(file, reterr, "is not zero where it must be");
	if (record->name && !xp_name_table_find(&file->names, record->name, &ret_tail->text))
		return bad_record(file, reterr, "names an id that the name table lacks");
	return 0;
}

static bool is_api(uint32_t kind)
{
	return kind == API_ENTRY || kind == API_EXIT;
}

static bool is_nvtx(uint32_t kind)
{
	return kind == NVTX_START || kind == NVTX_END;
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

static struct xp_event head_of(const struct xp_cupti_file *file, const struct xp_capture_event *record)
{
	bool activity = !is_api(record->kind) && !is_nvtx(record->kind);
	bool normalized = file->head.features & XP_CAPTURE_HOST_MONOTONIC;
	bool bounded = normalized && file->head.abi == XP_CAPTURE_ABI_5;
	struct xp_event event = {
		.t_ns = record->t_ns,
		.sequence = file->index,
		.pid = record->pid,
		.tid = activity ? 0 : record->tid,
		.type = type_of_kind[record->kind],
		.source = activity ? XP_SRC_CUPTI_ACTIVITY : XP_SRC_CUPTI_CALLBACK,
		.clock = !activity    ? XP_CLOCK_HOST
			 : normalized ? XP_CLOCK_CUPTI_NORMALIZED
				      : XP_CLOCK_CUPTI,
		.process = xp_store_process(file->in->store, record->pid, (struct xp_opt_u64){ 0 }),
	};

	if (activity)
		event.error_ns = bounded ? file->more.clock_error_ns : XP_ERROR_UNKNOWN;
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
static void put_api(struct xp_store *store, const struct tail *tail, struct xp_event *event, struct xp_event_detail *detail)
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

static void put_kernel(struct xp_store *store, const struct xp_capture_event *record, const struct tail *tail,
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

static void put_transfer(const struct xp_capture_event *record, const struct tail *tail, struct xp_event_detail *detail)
{
	detail->gpu.bytes = joined(record->grid);
	detail->gpu.have |= XP_GPU_BYTES;
	if (record->kind == MEMSET_START || record->kind == MEMSET_END) {
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

static void put_graph(const struct tail *tail, struct xp_event *event, struct xp_event_detail *detail)
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

static void put_cuda(struct xp_store *store, const struct xp_capture_event *record, const struct tail *tail, struct xp_event *event,
		     struct xp_event_detail *detail)
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
		if (record->kind == KERNEL_START || record->kind == KERNEL_END)
			put_kernel(store, record, tail, detail);
		else
			put_transfer(record, tail, detail);
		put_graph(tail, event, detail);
	}
	event->site = detail->gpu.name;
}

static int put_nvtx(const struct xp_cupti_file *file, const struct xp_capture_event *record, const struct tail *tail,
		    struct xp_event *event, struct xp_event_detail *detail, struct xp_err *reterr)
{
	if (record->grid[2] != 1 && record->grid[2] != 2)
		return bad_record(file, reterr, "is a range of unknown kind");
	detail->nvtx.name = tail->text;
	detail->nvtx.range_id = joined(record->grid);
	detail->nvtx.process_range = record->grid[2] == 2;
	detail->nvtx.start_tid = record->block[0];
	detail->nvtx.name_complete = record->block[1] != 0;
	event->site = tail->text;
	return 0;
}

static int add(struct xp_cupti_file *file, const struct xp_capture_event *record, const struct tail *tail, struct xp_err *reterr)
{
	struct xp_store *store = file->in->store;
	struct xp_event_detail detail = { 0 }, *slot;
	int rc = 0;

	if (xp_store_count(store) == xp_store_capacity(store))
		return xp_input_add(file->in, &(struct xp_event){ .pid = record->pid, .type = type_of_kind[record->kind] }, reterr);
	struct xp_event event = head_of(file, record);
	if (is_nvtx(record->kind))
		rc = put_nvtx(file, record, tail, &event, &detail, reterr);
	else
		put_cuda(store, record, tail, &event, &detail);
	if (rc)
		return rc;
	event.detail = xp_store_detail_new(store, &slot);
	*slot = detail;
	return xp_input_add(file->in, &event, reterr);
}

static int check(const struct xp_cupti_file *file, const struct xp_capture_event *record, struct xp_err *reterr)
{
	if (!record->kind || record->kind >= KIND_COUNT)
		return bad_record(file, reterr, "is of an unknown kind");
	return record->t_ns ? 0 : bad_record(file, reterr, "has the timestamp 0");
}

int xp_cupti_add_4(struct xp_cupti_file *file, const struct xp_capture_event_4 *record, struct xp_err *reterr)
{
	struct tail tail;
	int rc = check(file, &record->event, reterr);

	if (!rc)
		rc = read_tail_4(file, record, &tail, reterr);
	return rc ? rc : add(file, &record->event, &tail, reterr);
}

int xp_cupti_add_5(struct xp_cupti_file *file, const struct xp_capture_event_5 *record, struct xp_err *reterr)
{
	struct tail tail;
	int rc = check(file, &record->event, reterr);

	if (!rc)
		rc = read_tail_5(file, record, &tail, reterr);
	return rc ? rc : add(file, &record->event, &tail, reterr);
}
