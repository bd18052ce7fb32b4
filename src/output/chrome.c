/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome Trace Event JSON, one instant per Event. In: a sorted capture. Out: one JSON object through a sink. No state beyond one event. */
#include "output/output.h"
#include "result/event_record.h"

struct args {
	const char *event_id;
	int event_type;
	uint64_t timestamp_ns, timestamp_raw;
	int clock_domain;
	struct xp_opt_u32 correlation_id, context_id;
	struct xp_opt_u64 stream_id;
	const struct xp_event_nvtx_doc *nvtx;
	json_t *attributes;
};

struct instant {
	const char *name, *cat;
	uint64_t ts, pid, tid;
	struct args args;
};

static const struct xp_field args_fields[] = {
	XP_FIELD(args, event_id, STR, "as in the Event"),
	XP_FIELD_ENUM(args, event_type, xp_event_type_names, "as in the Event"),
	XP_FIELD(args, timestamp_ns, U64, "exact time"),
	XP_FIELD(args, timestamp_raw, U64, "as in the Event"),
	XP_FIELD_ENUM(args, clock_domain, xp_clock_domain_names, "as in the Event"),
	XP_FIELD(args, correlation_id, OPT_U32, "as in the Event"),
	XP_FIELD(args, context_id, OPT_U32, "as in the Event"),
	XP_FIELD(args, stream_id, OPT_U64, "as in the Event"),
	XP_FIELD_PTR(args, nvtx, &xp_event_nvtx_record, "as in the Event", .flags = XP_NULLABLE),
	XP_FIELD(args, attributes, JSON, "as in the Event", .flags = XP_OPEN_OBJECT),
};
static const struct xp_record args_record = XP_RECORD("ChromeArgs", args, args_fields, "what Chrome's own members cannot hold");

static const struct xp_field instant_fields[] = {
	XP_FIELD(instant, name, STR, "function, call, kernel, marker or range"),
	XP_FIELD(instant, cat, STR, "host, cuda.api, cuda.activity or marker"),
	XP_FIELD_CONST("ph", "i", "an instant"),
	XP_FIELD_CONST("s", "t", "scope: the thread"),
	XP_FIELD(instant, ts, U64, "time in us"),
	XP_FIELD(instant, pid, U64, "process"),
	XP_FIELD(instant, tid, U64, "thread; stream of a GPU activity"),
	XP_FIELD_OBJ(instant, args, &args_record, "exact values"),
};
static const struct xp_record instant_record = XP_RECORD("ChromeInstant", instant, instant_fields, "one Event on Chrome's timeline");

static const char *category(const struct xp_event_doc *doc)
{
	if (doc->event_type == XP_EV_MARKER || xp_event_group_of(doc->event_type) == XP_GROUP_NVTX)
		return "marker";
	if (xp_event_group_of(doc->event_type) == XP_GROUP_HOST)
		return "host";
	return doc->event_type <= XP_EV_CUDA_API_EXIT ? "cuda.api" : "cuda.activity";
}

static const char *attribute(const struct xp_event_doc *doc, const char *key)
{
	return json_string_value(json_object_get(doc->attributes, key));
}

static const char *name_of(const struct xp_event_doc *doc)
{
	const char *name = NULL;

	if (doc->nvtx)
		name = doc->nvtx->name;
	else if (doc->cuda)
		name = doc->cuda->kernel_name ? doc->cuda->kernel_name : attribute(doc, "cuda_api_name");
	else if (doc->host)
		name = doc->host->symbol_demangled ? doc->host->symbol_demangled : doc->host->symbol;
	return name ? name : xp_event_type_names[doc->event_type];
}

static struct instant instant_of(const struct xp_event_doc *doc)
{
	bool activity = doc->cuda && doc->event_type > XP_EV_CUDA_API_EXIT;
	struct instant instant = {
		.name = name_of(doc),
		.cat = category(doc),
		.ts = doc->timestamp_ns / 1000,
		.pid = doc->pid,
		.tid = activity && doc->cuda->stream_id.set ? doc->cuda->stream_id.v : doc->tid,
		.args = {
			.event_id = doc->event_id,
			.event_type = doc->event_type,
			.timestamp_ns = doc->timestamp_ns,
			.timestamp_raw = doc->timestamp_raw,
			.clock_domain = doc->clock_domain,
			.nvtx = doc->nvtx,
			.attributes = doc->attributes,
		},
	};

	if (doc->cuda) {
		instant.args.correlation_id = doc->cuda->correlation_id;
		instant.args.context_id = doc->cuda->context_id;
		instant.args.stream_id = doc->cuda->stream_id;
	}
	return instant;
}

static int flush(struct xp_text *text, const struct xp_sink *sink, struct xp_err *reterr)
{
	size_t len = text->len;

	text->len = 0;
	return len ? sink->write(sink->arg, text->data, len, reterr) : 0;
}

static int write_chrome(const struct xp_output_input *input, const struct xp_sink *sink, struct xp_err *reterr)
{
	xp_auto(xp_arena_free) struct xp_arena *scratch = xp_arena_new();
	xp_auto_builder text = { 0 };
	struct xp_json json = { .out = &text };
	const struct xp_event *events = xp_store_events(input->store);
	uint64_t n = xp_store_count(input->store);

	xp_json_begin(&json, '{');
	xp_json_key(&json, "displayTimeUnit");
	xp_json_str(&json, "ns");
	xp_json_key(&json, "traceEvents");
	xp_json_begin(&json, '[');
	for (uint64_t i = 0; i < n; i++) {
		struct xp_event_doc doc;
		int rc = xp_output_check_stop(input, i, reterr);

		if (rc)
			return rc;
		xp_event_doc_make(input->store, &events[i], input->session_id, scratch, &doc);
		struct instant instant = instant_of(&doc);
		xp_record_write(&json, &instant_record, &instant, false);
		rc = flush(&text, sink, reterr);
		if (rc)
			return rc;
		xp_arena_reset(scratch);
	}
	xp_json_end(&json, ']');
	xp_json_end(&json, '}');
	xp_text_char(&text, '\n');
	return flush(&text, sink, reterr);
}

const struct xp_output xp_output_chrome = {
	.name = "chrome",
	.summary = "Chrome Trace Event JSON, one instant per Event",
	.takes = XP_TAKES_EVENTS | XP_TAKES_GRAPH,
	.counts_events = true,
	.write = write_chrome,
};
