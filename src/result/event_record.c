/* SPDX-License-Identifier: Apache-2.0 */
/* Stored event to Event document, and the field tables of contract 10.1. No state. */
#include "result/event_record.h"

#include <string.h>

static const char *const range_kind_names[XP_RANGE_KIND_COUNT] = { [XP_RANGE_THREAD] = "thread", [XP_RANGE_PROCESS] = "process" };

static const struct xp_field argument_fields[] = {
	XP_FIELD(xp_argument_doc, index, U16, "position of the argument, from 0"),
	XP_FIELD(xp_argument_doc, abi_type, STR, "type by the calling convention, e.g. u64"),
	XP_FIELD(xp_argument_doc, value, JSON, "the value; null when it could not be read", .flags = XP_NULLABLE),
	XP_FIELD(xp_argument_doc, read_error, STR, "why there is no value", .flags = XP_NULLABLE),
};
static const struct xp_record argument_record =
	XP_RECORD("EventArgument", xp_argument_doc, argument_fields, "one scalar argument of a call", .closed = true);

static const struct xp_field host_fields[] = {
	XP_FIELD_ENUM(xp_event_host_doc, probe_kind, xp_probe_kind_names, "what kind of probe reported the event"),
	XP_FIELD(xp_event_host_doc, binary_path, STR, "file that holds the probed code, as the target maps it", .flags = XP_NULLABLE),
	XP_FIELD(xp_event_host_doc, build_id, STR, "build id of that file, lower hex", .flags = XP_NULLABLE),
	XP_FIELD(xp_event_host_doc, symbol, STR, "ELF name, system call, tracepoint or marker", .flags = XP_NULLABLE),
	XP_FIELD(xp_event_host_doc, symbol_demangled, STR, "demangled signature", .flags = XP_NULLABLE),
	XP_FIELD(xp_event_host_doc, offset, OPT_U64, "file offset of the function or marker"),
	XP_FIELD(xp_event_host_doc, return_value, OPT_I64, "signed result, system call exits only"),
	XP_FIELD_LIST(xp_event_host_doc, arguments, &argument_record, "scalar arguments: six of a system call entry, else none"),
};
static const struct xp_record host_record =
	XP_RECORD("EventHost", xp_event_host_doc, host_fields, "the probe behind an event on the CPU", .closed = true);

static const struct xp_field dim3_fields[] = {
	XP_FIELD(xp_dim3_doc, x, U32, "x extent"),
	XP_FIELD(xp_dim3_doc, y, U32, "y extent"),
	XP_FIELD(xp_dim3_doc, z, U32, "z extent"),
};
static const struct xp_record dim3_record = XP_RECORD("Dim3", xp_dim3_doc, dim3_fields, "launch dimensions", .closed = true);

static const struct xp_field cuda_fields[] = {
	XP_FIELD(xp_event_cuda_doc, device_id, OPT_U32, "device index"),
	XP_FIELD(xp_event_cuda_doc, context_id, OPT_U32, "CUDA context"),
	XP_FIELD(xp_event_cuda_doc, stream_id, OPT_U64, "CUDA stream"),
	XP_FIELD(xp_event_cuda_doc, correlation_id, OPT_U32, "ties an API call to its activity"),
	XP_FIELD(xp_event_cuda_doc, runtime_correlation_id, OPT_U32, "correlation id of the runtime call around a driver call"),
	XP_FIELD(xp_event_cuda_doc, callback_domain, OPT_U32, "1 driver, 2 runtime"),
	XP_FIELD(xp_event_cuda_doc, callback_id, OPT_U32, "CUPTI's number of the API"),
	XP_FIELD(xp_event_cuda_doc, kernel_name, STR, "name as CUPTI gives it", .flags = XP_NULLABLE),
	XP_FIELD(xp_event_cuda_doc, kernel_name_mangled, STR, "mangled name", .flags = XP_NULLABLE),
	XP_FIELD(xp_event_cuda_doc, start_ns, OPT_U64, "start events: when the activity began"),
	XP_FIELD(xp_event_cuda_doc, end_ns, OPT_U64, "end events: when the activity ended"),
	XP_FIELD_PTR(xp_event_cuda_doc, grid, &dim3_record, "grid of a kernel", .flags = XP_NULLABLE),
	XP_FIELD_PTR(xp_event_cuda_doc, block, &dim3_record, "block of a kernel", .flags = XP_NULLABLE),
	XP_FIELD(xp_event_cuda_doc, bytes, OPT_U64, "size of a copy or set"),
	XP_FIELD_ENUM(xp_event_cuda_doc, memcpy_kind, xp_memcpy_kind_names, "direction of a copy", .flags = XP_NULLABLE),
};
static const struct xp_record cuda_record =
	XP_RECORD("EventCuda", xp_event_cuda_doc, cuda_fields, "the CUDA call or activity behind an event", .closed = true);

static const struct xp_field nvtx_fields[] = {
	XP_FIELD(xp_event_nvtx_doc, name, STR, "message of the range, at most 127 bytes"),
	XP_FIELD(xp_event_nvtx_doc, name_complete, BOOL, "false: only the beginning of the message is known"),
	XP_FIELD_ENUM(xp_event_nvtx_doc, range_kind, range_kind_names, "thread ranges nest, process ranges may end on another thread"),
	XP_FIELD(xp_event_nvtx_doc, range_id, U64, "identity of the range"),
	XP_FIELD(xp_event_nvtx_doc, start_tid, U32, "thread that opened the range"),
};
const struct xp_record xp_event_nvtx_record =
	XP_RECORD("EventNvtx", xp_event_nvtx_doc, nvtx_fields, "the NVTX range behind an event", .closed = true);

static const struct xp_field event_fields[] = {
	XP_FIELD_CONST("schema_version", "2.0", "version of this record"),
	XP_FIELD(xp_event_doc, session_id, STR, "session that wrote the event, 1 to 128 bytes"),
	XP_FIELD(xp_event_doc, event_id, STR, "evt_<sequence>, unique in the file"),
	XP_FIELD(xp_event_doc, sequence, U64, "position in the merged capture"),
	XP_FIELD_ENUM(xp_event_doc, source, xp_event_source_names, "what observed the event"),
	XP_FIELD_ENUM(xp_event_doc, event_type, xp_event_type_names, "what happened"),
	XP_FIELD(xp_event_doc, pid, U32, "process id in xprobe's namespace"),
	XP_FIELD(xp_event_doc, tid, U32, "thread id in xprobe's namespace; 0 for GPU activities"),
	XP_FIELD(xp_event_doc, cpu, OPT_U32, "CPU of a host event"),
	XP_FIELD(xp_event_doc, timestamp_raw, U64, "ns as the source gave it"),
	XP_FIELD(xp_event_doc, timestamp_ns, U64, "ns, comparable within clock_domain"),
	XP_FIELD_ENUM(xp_event_doc, clock_domain, xp_clock_domain_names, "clock of timestamp_ns"),
	XP_FIELD(xp_event_doc, timestamp_error_ns, OPT_U64, "bound of the alignment error; null: the host clock itself, or unknown"),
	XP_FIELD(xp_event_doc, process_start_time, OPT_U64, "identity of the process, clock ticks since boot"),
	XP_FIELD_PTR(xp_event_doc, host, &host_record, "probe, for events on the CPU", .flags = XP_NULLABLE),
	XP_FIELD_PTR(xp_event_doc, cuda, &cuda_record, "call or activity, for CUDA events", .flags = XP_NULLABLE),
	XP_FIELD_PTR(xp_event_doc, nvtx, &xp_event_nvtx_record, "range, for NVTX events", .flags = XP_NULLABLE | XP_OPTIONAL),
	XP_FIELD(xp_event_doc, attributes, JSON, "open map of further facts", .flags = XP_OPEN_OBJECT),
};
const struct xp_record xp_event_record = XP_RECORD("Event", xp_event_doc, event_fields, "one observed moment", .closed = true);

static void make_arguments(struct xp_event_host_doc *host, const uint64_t *registers, struct xp_arena *arena)
{
	enum { REGISTERS = 6 };
	struct xp_argument_doc *arguments = xp_arena_array(arena, struct xp_argument_doc, REGISTERS);

	for (uint16_t i = 0; i < REGISTERS; i++) {
		arguments[i].index = i;
		arguments[i].abi_type = "u64";
		arguments[i].value = xp_json_exact(registers[i]);
		xp_arena_defer(arena, (void (*)(void *))json_decref, arguments[i].value);
	}
	host->arguments = arguments;
	host->n_arguments = REGISTERS;
}

/* Arguments of an input file that are not a system call's six registers, as they came. They were checked against the table then. */
static void copy_arguments(struct xp_event_host_doc *host, const json_t *kept, struct xp_arena *arena)
{
	size_t n = json_array_size(kept);
	struct xp_argument_doc *arguments = xp_arena_array(arena, struct xp_argument_doc, n);

	for (size_t i = 0; i < n; i++) {
		const json_t *item = json_array_get(kept, i);

		arguments[i].index = (uint16_t)json_integer_value(json_object_get(item, "index"));
		arguments[i].abi_type = json_string_value(json_object_get(item, "abi_type"));
		arguments[i].value = json_object_get(item, "value");
		arguments[i].read_error = json_string_value(json_object_get(item, "read_error"));
	}
	host->arguments = n ? arguments : NULL;
	host->n_arguments = n;
}

static const struct xp_event_host_doc *make_host(const struct xp_store *store, const struct xp_event *event,
						 const struct xp_event_detail *detail, const struct xp_site *site, struct xp_arena *arena)
{
	if (!site)
		return NULL;
	struct xp_event_host_doc *host = xp_arena_new_of(arena, struct xp_event_host_doc);
	host->probe_kind = site->probe_kind;
	host->binary_path = site->binary_path;
	host->build_id = site->build_id;
	host->symbol = site->symbol;
	host->symbol_demangled = site->symbol_demangled;
	host->offset = site->offset;
	if (event->type == XP_EV_SYSCALL_EXIT && !(event->flags & XP_EVF_NO_RESULT))
		host->return_value = (struct xp_opt_i64)XP_SOME(event->host.result);
	if (detail && detail->arguments)
		copy_arguments(host, detail->arguments, arena);
	else if (xp_store_args(store, event))
		make_arguments(host, xp_store_args(store, event), arena);
	return host;
}

static const struct xp_dim3_doc *make_dim3(const uint32_t dims[3], struct xp_arena *arena)
{
	struct xp_dim3_doc *doc = xp_arena_new_of(arena, struct xp_dim3_doc);

	*doc = (struct xp_dim3_doc){ dims[0], dims[1], dims[2] };
	return doc;
}

static struct xp_opt_u32 some_u32(bool set, uint32_t value)
{
	return (struct xp_opt_u32){ .set = set, .v = set ? value : 0 };
}

static struct xp_opt_u64 some_u64(bool set, uint64_t value)
{
	return (struct xp_opt_u64){ .set = set, .v = set ? value : 0 };
}

static void make_cuda_detail(struct xp_event_cuda_doc *cuda, const struct xp_store *store, const struct xp_event *event,
			     const struct xp_event_detail *detail, struct xp_arena *arena)
{
	unsigned have = detail->gpu.have;
	bool kernel = event->type == XP_EV_GPU_KERNEL_START || event->type == XP_EV_GPU_KERNEL_END;

	cuda->runtime_correlation_id = some_u32(have & XP_GPU_RUNTIME_CORRELATION, detail->gpu.runtime_correlation);
	cuda->callback_domain = some_u32(have & XP_GPU_DOMAIN, detail->gpu.callback_domain);
	cuda->callback_id = some_u32(have & XP_GPU_CALLBACK, detail->gpu.callback_id);
	cuda->kernel_name = kernel ? xp_store_text(store, detail->gpu.name) : NULL;
	cuda->kernel_name_mangled = xp_store_text(store, detail->gpu.mangled);
	cuda->start_ns = some_u64(have & XP_GPU_START, detail->gpu.start_ns);
	cuda->end_ns = some_u64(have & XP_GPU_END, detail->gpu.end_ns);
	cuda->grid = have & XP_GPU_GRID ? make_dim3(detail->gpu.grid, arena) : NULL;
	cuda->block = have & XP_GPU_BLOCK ? make_dim3(detail->gpu.block, arena) : NULL;
	cuda->bytes = some_u64(have & XP_GPU_BYTES, detail->gpu.bytes);
	cuda->memcpy_kind = have & XP_GPU_MEMCPY_KIND ? detail->gpu.memcpy_kind : -1;
}

static const struct xp_event_cuda_doc *make_cuda(const struct xp_store *store, const struct xp_event *event,
						 const struct xp_event_detail *detail, struct xp_arena *arena)
{
	struct xp_event_cuda_doc *cuda = xp_arena_new_of(arena, struct xp_event_cuda_doc);

	cuda->device_id = some_u32(!(event->flags & XP_EVF_NO_DEVICE), event->gpu.device);
	cuda->context_id = some_u32(!(event->flags & XP_EVF_NO_CONTEXT), event->gpu.context);
	cuda->stream_id = some_u64(!(event->flags & XP_EVF_NO_STREAM), event->gpu.stream);
	cuda->correlation_id = some_u32(!(event->flags & XP_EVF_NO_CORRELATION), event->gpu.correlation);
	cuda->memcpy_kind = -1;
	if (detail)
		make_cuda_detail(cuda, store, event, detail, arena);
	return cuda;
}

static const struct xp_event_nvtx_doc *make_nvtx(const struct xp_store *store, const struct xp_event_detail *detail, struct xp_arena *arena)
{
	if (!detail)
		return NULL;
	struct xp_event_nvtx_doc *nvtx = xp_arena_new_of(arena, struct xp_event_nvtx_doc);
	const char *name = xp_store_text(store, detail->nvtx.name);
	nvtx->name = name ? name : "";
	nvtx->name_complete = detail->nvtx.name_complete;
	nvtx->range_kind = detail->nvtx.process_range ? XP_RANGE_PROCESS : XP_RANGE_THREAD;
	nvtx->range_id = detail->nvtx.range_id;
	nvtx->start_tid = detail->nvtx.start_tid;
	return nvtx;
}

static json_t *make_attributes(const struct xp_store *store, const struct xp_event *event, const struct xp_event_detail *detail,
			       const struct xp_site *site, struct xp_arena *arena)
{
	if (detail && detail->attributes)
		return detail->attributes;
	json_t *map = xp_event_attributes(store, event, detail, site);
	if (map)
		xp_arena_defer(arena, (void (*)(void *))json_decref, map);
	return map;
}

static bool is_long(const char *name)
{
	return name && strnlen(name, XP_NAME_MAX_ARTIFACT + 1) > XP_NAME_MAX_ARTIFACT;
}

static bool has_long_name(const struct xp_event_doc *doc)
{
	return (doc->host && (is_long(doc->host->symbol) || is_long(doc->host->symbol_demangled))) ||
	       (doc->cuda && (is_long(doc->cuda->kernel_name) || is_long(doc->cuda->kernel_name_mangled))) ||
	       (doc->nvtx && is_long(doc->nvtx->name));
}

void xp_event_doc_make(const struct xp_store *store, const struct xp_event *event, const char *session_id, struct xp_arena *arena,
		       struct xp_event_doc *ret_doc)
{
	const struct xp_event_detail *detail = xp_store_detail(store, event);
	enum xp_event_group group = xp_event_group_of(event->type);
	const struct xp_site *site = group == XP_GROUP_HOST ? xp_store_site_at(store, event->site) : NULL;
	bool bound_known = event->clock == XP_CLOCK_HOST ? event->error_ns > 0 : event->error_ns != XP_ERROR_UNKNOWN;

	*ret_doc = (struct xp_event_doc){
		.session_id = session_id,
		.event_id = xp_arena_fmt(arena, "evt_%llu", (unsigned long long)event->sequence),
		.sequence = event->sequence,
		.source = event->source,
		.event_type = event->type,
		.pid = event->pid,
		.tid = event->tid,
		.cpu = some_u32(event->cpu_valid, event->cpu),
		.timestamp_raw = detail && detail->raw_ns ? detail->raw_ns : event->t_ns,
		.timestamp_ns = event->t_ns,
		.clock_domain = event->clock,
		.timestamp_error_ns = some_u64(bound_known, event->error_ns),
		.process_start_time = xp_store_start_time(store, event->process),
		.host = group == XP_GROUP_HOST ? make_host(store, event, detail, site, arena) : NULL,
		.cuda = group == XP_GROUP_CUDA ? make_cuda(store, event, detail, arena) : NULL,
		.nvtx = group == XP_GROUP_NVTX ? make_nvtx(store, detail, arena) : NULL,
		.attributes = make_attributes(store, event, detail, site, arena),
	};
	if (has_long_name(ret_doc))
		xp_event_doc_cut(ret_doc, XP_NAME_MAX_ARTIFACT, arena);
}
