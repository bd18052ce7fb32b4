/* SPDX-License-Identifier: Apache-2.0 */
/* Event document to stored event: what an input file says becomes what a live capture would have stored. No state. */
#include <string.h>

#include "result/event_record.h"

enum { MAX_IDENTITIES = 1024, REGISTERS = 6 };
#define TIME_LIMIT (UINT64_C(1) << 63) /* contract 9: times from 2^63 on are invalid */

static int misfit(struct xp_err *reterr, const struct xp_event_doc *doc, const char *why)
{
	int rc = xp_fail(reterr, XP_E_TRACE_EXPORT_FAILED, "the %s event %.64s %s", xp_event_type_names[doc->event_type], doc->event_id,
			 why);

	xp_err_object(reterr, "%.64s", doc->event_id);
	return rc;
}

static int check_groups(const struct xp_event_doc *doc, enum xp_event_group group, struct xp_err *reterr)
{
	bool host_due = group == XP_GROUP_HOST && doc->event_type != XP_EV_MARKER;

	if (doc->host ? group != XP_GROUP_HOST : host_due)
		return misfit(reterr, doc, doc->host ? "carries a host object" : "lacks its host object");
	if ((group == XP_GROUP_CUDA) != !!doc->cuda)
		return misfit(reterr, doc, doc->cuda ? "carries a cuda object" : "lacks its cuda object");
	if ((group == XP_GROUP_NVTX) != !!doc->nvtx)
		return misfit(reterr, doc, doc->nvtx ? "carries an nvtx object" : "lacks its nvtx object");
	if (!doc->session_id[0] || strlen(doc->session_id) > XP_SESSION_ID_MAX)
		return misfit(reterr, doc, "has a session_id that is empty or longer than 128 bytes");
	return 0;
}

static const char *attribute(const struct xp_event_doc *doc, const char *key)
{
	const json_t *value = json_object_get(doc->attributes, key);

	return value && xp_json_is_text(value) ? json_string_value(value) : NULL;
}

static void read_site(const struct xp_event_doc *doc, struct xp_store *store, struct xp_event *event)
{
	if (!doc->host)
		return;
	struct xp_site site = {
		.probe_kind = doc->host->probe_kind,
		.binary_path = doc->host->binary_path,
		.build_id = doc->host->build_id,
		.symbol = doc->host->symbol,
		.symbol_demangled = doc->host->symbol_demangled,
		.offset = doc->host->offset,
	};
	if (event->type == XP_EV_TRACEPOINT)
		site.category = attribute(doc, "tracepoint_category");
	if (event->type == XP_EV_PYTHON_GC_START || event->type == XP_EV_PYTHON_GC_END)
		site.provider = attribute(doc, "usdt_provider");
	event->site = xp_store_site(store, &site);
}

/* Six u64 registers in order: the form that system call entries have; anything else is kept as it came. */
static bool are_registers(const struct xp_event_host_doc *host, uint64_t args[REGISTERS])
{
	if (host->n_arguments != REGISTERS)
		return false;
	for (uint16_t i = 0; i < REGISTERS; i++) {
		const struct xp_argument_doc *argument = &host->arguments[i];

		if (argument->index != i || strcmp(argument->abi_type, "u64") || argument->read_error ||
		    !xp_json_get_u64(argument->value, &args[i]))
			return false;
	}
	return true;
}

static json_t *keep_arguments(const struct xp_event_host_doc *host)
{
	json_t *kept = json_array();

	for (size_t i = 0; i < host->n_arguments; i++) {
		const struct xp_argument_doc *argument = &host->arguments[i];
		json_t *item = json_object();

		json_object_set_new(item, "index", json_integer(argument->index));
		json_object_set_new(item, "abi_type", xp_json_text(argument->abi_type));
		if (argument->value)
			json_object_set(item, "value", argument->value);
		if (argument->read_error)
			json_object_set_new(item, "read_error", xp_json_text(argument->read_error));
		json_array_append_new(kept, item);
	}
	return kept;
}

/* True when the event needs side storage for its arguments. */
static bool read_arguments(const struct xp_event_doc *doc, struct xp_event *event, struct xp_event_detail *detail)
{
	if (!doc->host)
		return false;
	if (event->type == XP_EV_SYSCALL_ENTRY && are_registers(doc->host, detail->args))
		return true;
	if (!doc->host->n_arguments && event->type != XP_EV_SYSCALL_ENTRY)
		return false;
	detail->arguments = keep_arguments(doc->host);
	return true;
}

static void read_dims(const struct xp_dim3_doc *dims, uint32_t ret_dims[3], unsigned bit, struct xp_event_detail *detail)
{
	if (!dims)
		return;
	ret_dims[0] = dims->x;
	ret_dims[1] = dims->y;
	ret_dims[2] = dims->z;
	detail->gpu.have |= (uint16_t)bit;
}

static uint32_t have(struct xp_event_detail *detail, bool set, unsigned bit)
{
	if (set)
		detail->gpu.have |= (uint16_t)bit;
	return set;
}

static uint32_t interned(struct xp_store *store, const char *text)
{
	return text ? xp_store_intern(store, text, strlen(text)) : 0;
}

/* Contract 9.1 rule 7: the largest 32-bit number stands for an unknown correlation or stream. */
static void read_ids(const struct xp_event_cuda_doc *cuda, struct xp_event *event)
{
	event->gpu.device = cuda->device_id.v;
	event->gpu.context = cuda->context_id.v;
	event->gpu.stream = cuda->stream_id.v;
	event->gpu.correlation = cuda->correlation_id.v;
	if (!cuda->device_id.set)
		event->flags |= XP_EVF_NO_DEVICE;
	if (!cuda->context_id.set)
		event->flags |= XP_EVF_NO_CONTEXT;
	if (!cuda->stream_id.set || cuda->stream_id.v == UINT32_MAX)
		event->flags |= XP_EVF_NO_STREAM;
	if (!cuda->correlation_id.set || cuda->correlation_id.v == UINT32_MAX)
		event->flags |= XP_EVF_NO_CORRELATION;
}

static void read_cuda(const struct xp_event_cuda_doc *cuda, struct xp_store *store, struct xp_event *event, struct xp_event_detail *detail)
{
	read_ids(cuda, event);
	detail->gpu.runtime_correlation = cuda->runtime_correlation_id.v;
	have(detail, cuda->runtime_correlation_id.set, XP_GPU_RUNTIME_CORRELATION);
	detail->gpu.callback_domain = cuda->callback_domain.v;
	have(detail, cuda->callback_domain.set, XP_GPU_DOMAIN);
	detail->gpu.callback_id = cuda->callback_id.v;
	have(detail, cuda->callback_id.set, XP_GPU_CALLBACK);
	detail->gpu.name = interned(store, cuda->kernel_name);
	detail->gpu.mangled = interned(store, cuda->kernel_name_mangled);
	detail->gpu.start_ns = cuda->start_ns.v;
	have(detail, cuda->start_ns.set, XP_GPU_START);
	detail->gpu.end_ns = cuda->end_ns.v;
	have(detail, cuda->end_ns.set, XP_GPU_END);
	read_dims(cuda->grid, detail->gpu.grid, XP_GPU_GRID, detail);
	read_dims(cuda->block, detail->gpu.block, XP_GPU_BLOCK, detail);
	detail->gpu.bytes = cuda->bytes.v;
	have(detail, cuda->bytes.set, XP_GPU_BYTES);
	detail->gpu.memcpy_kind = XP_COPY_UNKNOWN;
	if (have(detail, cuda->memcpy_kind >= 0, XP_GPU_MEMCPY_KIND))
		detail->gpu.memcpy_kind = (uint8_t)cuda->memcpy_kind;
}

static void read_nvtx(const struct xp_event_nvtx_doc *nvtx, struct xp_store *store, struct xp_event_detail *detail)
{
	detail->nvtx.name = interned(store, nvtx->name);
	detail->nvtx.name_complete = nvtx->name_complete;
	detail->nvtx.process_range = nvtx->range_kind == XP_RANGE_PROCESS;
	detail->nvtx.range_id = nvtx->range_id;
	detail->nvtx.start_tid = nvtx->start_tid;
}

static bool invalid(struct xp_opt_u64 time)
{
	return time.set && (!time.v || time.v >= TIME_LIMIT);
}

/* Contract 9 "Bounds" and 9.1 rule 7: judged for CUDA sources only. */
static bool has_invalid_time(const struct xp_event_doc *doc)
{
	const struct xp_event_cuda_doc *cuda = doc->cuda;

	if (!cuda && !doc->nvtx)
		return false;
	if (invalid((struct xp_opt_u64)XP_SOME(doc->timestamp_ns)))
		return true;
	return cuda && (invalid(cuda->start_ns) || invalid(cuda->end_ns) ||
			(cuda->start_ns.set && cuda->end_ns.set && cuda->end_ns.v < cuda->start_ns.v));
}

static void read_head(const struct xp_event_doc *doc, struct xp_event *event)
{
	*event = (struct xp_event){
		.t_ns = doc->timestamp_ns,
		.sequence = doc->sequence,
		.error_ns = doc->timestamp_error_ns.set		 ? doc->timestamp_error_ns.v
			    : doc->clock_domain == XP_CLOCK_HOST ? 0
								 : XP_ERROR_UNKNOWN,
		.pid = doc->pid,
		.tid = doc->tid,
		.site = UINT32_MAX,
		.detail = XP_NO_DETAIL,
		.type = (uint8_t)doc->event_type,
		.source = (uint8_t)doc->source,
		.clock = (uint8_t)doc->clock_domain,
		.cpu_valid = doc->cpu.set,
		.cpu = doc->cpu.v,
	};
	if (has_invalid_time(doc))
		event->flags |= XP_EVF_INVALID_TIME;
}

/* The map itself is kept only where writing it again from the store would not give the same. */
static bool keep_attributes(const struct xp_event_doc *doc, struct xp_store *store, const struct xp_event *event,
			    struct xp_event_detail *detail)
{
	const struct xp_site *site = xp_event_group_of(event->type) == XP_GROUP_HOST ? xp_store_site_at(store, event->site) : NULL;
	json_t *ours = xp_event_attributes(store, event, detail, site);
	bool same = ours ? json_equal(ours, doc->attributes) : !json_object_size(doc->attributes);

	json_decref(ours);
	if (same)
		return false;
	detail->attributes = json_incref(doc->attributes);
	return true;
}

static bool only_registers(const struct xp_event *event, const struct xp_event_detail *side)
{
	return event->type == XP_EV_SYSCALL_ENTRY && !side->arguments && !side->attributes && !side->raw_ns;
}

int xp_event_from_doc(const struct xp_event_doc *doc, struct xp_store *store, struct xp_event *ret_event, struct xp_err *reterr)
{
	enum xp_event_group group = xp_event_group_of((enum xp_event_type)doc->event_type);
	struct xp_event_detail side = { 0 }, *slot;
	struct xp_event event;
	int rc = check_groups(doc, group, reterr);

	if (rc)
		return rc;
	read_head(doc, &event);
	event.process = xp_store_process(store, doc->pid, doc->process_start_time);
	if (event.process >= MAX_IDENTITIES)
		return misfit(reterr, doc, "belongs to one process identity too many (1,024 are read)");
	bool needs_side = group != XP_GROUP_HOST;
	read_site(doc, store, &event);
	if (doc->cuda)
		read_cuda(doc->cuda, store, &event, &side);
	else if (doc->nvtx)
		read_nvtx(doc->nvtx, store, &side);
	else
		needs_side = read_arguments(doc, &event, &side);
	if (event.type == XP_EV_SYSCALL_EXIT) {
		event.host.result = doc->host->return_value.v;
		event.flags |= doc->host->return_value.set ? 0 : XP_EVF_NO_RESULT;
	}
	xp_event_read_attributes(doc->attributes, store, &event, &side);
	if (group == XP_GROUP_CUDA)
		event.site = side.gpu.name;
	else if (group == XP_GROUP_NVTX)
		event.site = side.nvtx.name;
	needs_side |= keep_attributes(doc, store, &event, &side);
	if (doc->timestamp_raw != doc->timestamp_ns) {
		side.raw_ns = doc->timestamp_raw;
		needs_side = true;
	}
	if (needs_side && only_registers(&event, &side)) {
		xp_store_set_args(store, &event, side.args);
	} else if (needs_side) {
		event.detail = xp_store_detail_new(store, &slot);
		*slot = side;
	}
	*ret_event = event;
	return 0;
}
