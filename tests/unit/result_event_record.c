/* SPDX-License-Identifier: Apache-2.0 */
/* Events of every type survive document -> store -> document, misfits are refused, cut names say so. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "result/event_record.h"

#define HEAD(source, type, clock, error)                                                                                               \
	"{\"schema_version\":\"2.0\",\"session_id\":\"xp_test_1_00000000\",\"event_id\":\"evt_7\",\"sequence\":7,\"source\":\"" source \
	"\",\"event_type\":\"" type                                                                                                    \
	"\",\"pid\":41,\"tid\":43,\"cpu\":null,\"timestamp_raw\":1009,\"timestamp_ns\":1013,\"clock_domain\":\"" clock                 \
	"\",\"timestamp_error_ns\":" error ",\"process_start_time\":8812345,"
#define NO_ARGS "\"arguments\":[]"
#define HOST(kind, symbol, rest)                                                                                        \
	"\"host\":{\"probe_kind\":\"" kind "\",\"binary_path\":\"/srv/app\",\"build_id\":\"00ff\",\"symbol\":\"" symbol \
	"\",\"symbol_demangled\":null,\"offset\":4096," rest "},\"cuda\":null,"
#define CUDA(correlation, domain, name, times, bytes, kind)                                                                           \
	"\"host\":null,\"cuda\":{\"device_id\":0,\"context_id\":1,\"stream_id\":18446744073709551615,\"correlation_id\":" correlation \
	",\"runtime_correlation_id\":null,\"callback_domain\":" domain ",\"callback_id\":" domain ",\"kernel_name\":" name            \
	",\"kernel_name_mangled\":null," times ",\"grid\":{\"x\":1,\"y\":2,\"z\":3},\"block\":null,\"bytes\":" bytes                  \
	",\"memcpy_kind\":" kind "},"
#define START "\"start_ns\":1013,\"end_ns\":null"
#define END "\"start_ns\":null,\"end_ns\":1013"
#define NO_TIMES "\"start_ns\":null,\"end_ns\":null"
#define NVTX(kind)                                                                                              \
	"\"host\":null,\"cuda\":null,\"nvtx\":{\"name\":\"step\",\"name_complete\":true,\"range_kind\":\"" kind \
	"\",\"range_id\":18446744073709551615,\"start_tid\":43},\"attributes\":{}}"
#define REG(index, value) "{\"index\":" index ",\"abi_type\":\"u64\",\"value\":" value ",\"read_error\":null}"
#define SIX                                                                                                               \
	"\"arguments\":[" REG("0", "1") "," REG("1", "18446744073709551615") "," REG("2", "9223372036854775808") "," REG( \
		"3", "9223372036854775807") "," REG("4", "0") "," REG("5", "5") "]"
#define RET(value) "\"return_value\":" value ","
#define NORM "cupti_normalized_to_host_monotonic"

static const char *const whole[] = {
	HEAD("ebpf", "host_function_entry", "host_monotonic", "null")
		HOST("uprobe", "f",
		     RET("null") NO_ARGS) "\"attributes\":{\"sp\":140737488355328,\"thread_name\":\"worker-1\",\"ns_pid\":3,\"ns_tid\":5}}",
	HEAD("ebpf", "host_function_exit", "host_monotonic", "null")
		HOST("uretprobe", "f", RET("null") NO_ARGS) "\"attributes\":{\"sp\":16,\"goroutine\":824633720832}}",
	HEAD("ebpf", "kernel_function_entry", "host_monotonic", "null")
		HOST("kprobe", "vfs_read", RET("null") NO_ARGS) "\"attributes\":{}}",
	HEAD("ebpf", "kernel_function_exit", "host_monotonic", "null")
		HOST("kretprobe", "vfs_read", RET("null") NO_ARGS) "\"attributes\":{}}",
	HEAD("ebpf", "tracepoint", "host_monotonic", "null")
		HOST("tracepoint", "sched_switch", RET("null") NO_ARGS) "\"attributes\":{\"tracepoint_category\":\"sched\"}}",
	HEAD("ebpf", "syscall_entry", "host_monotonic", "null")
		HOST("syscall", "mmap", RET("null") SIX) "\"attributes\":{\"compat\":true}}",
	HEAD("ebpf", "syscall_exit", "host_monotonic", "null")
		HOST("syscall", "mmap",
		     RET("-9223372036854775808") NO_ARGS) "\"attributes\":{\"later\":[1,{\"deep\":null}],\"sp\":\"not a number\"}}",
	HEAD("ebpf", "python_gc_start", "host_monotonic", "null")
		HOST("usdt", "gc__start", RET("null") NO_ARGS) "\"attributes\":{\"usdt_provider\":\"python\"}}",
	HEAD("ebpf", "python_gc_end", "host_monotonic", "null")
		HOST("uretprobe", "gc_collect_main", RET("null") NO_ARGS) "\"attributes\":{}}",
	HEAD("cupti_callback", "cuda_api_entry", "host_monotonic", "null") CUDA(
		"17", "2", "null", NO_TIMES, "null", "null") "\"attributes\":{\"cuda_api_name\":\"cudaLaunchKernel\",\"cuda_api_domain\":"
							     "\"runtime_api\",\"cuda_api_symbol\":\"cudaLaunchKernel_v7000\"}}",
	HEAD("cupti_callback", "cuda_api_exit", "host_monotonic", "null")
		CUDA("17", "1", "null", NO_TIMES, "null",
		     "null") "\"attributes\":{\"cuda_api_name\":\"cuLaunchKernel\",\"cuda_api_domain\":\"driver_api\"}}",
	HEAD("cupti_activity", "gpu_kernel_start", NORM, "211") CUDA(
		"17", "null", "\"_Z3addPf\"", START, "null", "null") "\"attributes\":{\"kernel_function\":\"add\",\"graph_id\":3,\"graph_"
								     "node_id\":18446744073709551615,\"graph_predates_attach\":true,"
								     "\"launch_link\":\"unknown\"}}",
	HEAD("cupti_activity", "gpu_kernel_end", "cupti", "null")
		CUDA("null", "null", "\"_Z3ad\"", END, "null",
		     "null") "\"attributes\":{\"name_complete\":false,\"graph_id\":3,\"launch_link\":\"known\"}}",
	HEAD("cupti_activity", "gpu_memcpy_start", NORM, "null") CUDA(
		"null", "null", "null", START, "0", "\"HtoD\"") "\"attributes\":{\"src_memory\":\"pageable\",\"dst_memory\":\"device\"}}",
	HEAD("cupti_activity", "gpu_memcpy_end", NORM, "0") CUDA("19", "null", "null", END, "4096", "\"unknown\"") "\"attributes\":{}}",
	HEAD("cupti_activity", "gpu_memset_start", NORM, "1")
		CUDA("23", "null", "null", START, "8", "null") "\"attributes\":{\"memset_value\":0}}",
	HEAD("cupti_activity", "gpu_memset_end", NORM, "1")
		CUDA("23", "null", "null", END, "8", "null") "\"attributes\":{\"memset_value\":4294967295}}",
	HEAD("cupti_callback", "nvtx_range_start", "host_monotonic", "null") NVTX("thread"),
	HEAD("cupti_callback", "nvtx_range_end", "host_monotonic", "null") NVTX("process"),
	HEAD("marker", "marker", "host_monotonic", "null") "\"host\":null,\"cuda\":null,\"attributes\":{}}",
	/* Forms that the store has no room for keep what was read. */
	HEAD("ebpf", "syscall_exit", "host_monotonic", "null") HOST("syscall", "read", RET("null") NO_ARGS) "\"attributes\":{}}",
	HEAD("ebpf", "syscall_entry", "host_monotonic", "null") HOST("syscall", "read", RET("null") NO_ARGS) "\"attributes\":{}}",
	HEAD("ebpf", "syscall_entry", "host_monotonic", "null")
		HOST("syscall", "open",
		     RET("null") "\"arguments\":[{\"index\":1,\"abi_type\":\"char *\",\"value\":\"/x\",\"read_error\":null},"
				 "{\"index\":2,\"abi_type\":\"int\",\"value\":null,\"read_error\":\"EFAULT\"}]") "\"attributes\":{}}",
};

static json_t *parse(const char *text)
{
	char why[160];
	json_t *value = xp_json_parse(text, strlen(text), why, sizeof(why));

	if (!value)
		fail_msg("%s: %.200s", why, text);
	return value;
}

static int load(struct xp_store *store, struct xp_arena *arena, const char *text, struct xp_event *ret_event, struct xp_err *err)
{
	struct xp_event_doc doc;
	json_t *value = parse(text);
	int rc = xp_record_read(&xp_event_record, value, arena, XP_E_TRACE_EXPORT_FAILED, &doc, err);

	if (!rc)
		rc = xp_event_from_doc(&doc, store, ret_event, err);
	json_decref(value);
	return rc;
}

static json_t *written(const struct xp_event_doc *doc, bool sparse)
{
	xp_auto_builder out = { 0 };
	struct xp_json json = { .out = &out };

	xp_record_write(&json, &xp_event_record, doc, sparse);
	return parse(out.data);
}

static void every_type_round_trips(void **state)
{
	bool seen[XP_EV_TYPE_COUNT] = { false };

	for (size_t i = 0; i < XP_LEN(whole); i++) {
		xp_auto(xp_store_free) struct xp_store *store = xp_store_new(3);
		xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
		xp_auto_err err = { 0 };
		struct xp_event event;
		struct xp_event_doc doc;

		if (load(store, arena, whole[i], &event, &err))
			fail_msg("%s: %s", err.message, whole[i]);
		assert_true(xp_store_add(store, &event));
		xp_event_doc_make(store, &event, "xp_test_1_00000000", arena, &doc);
		json_t *before = parse(whole[i]), *after = written(&doc, false);
		if (!json_equal(before, after))
			fail_msg("read %s\nwrote %s", whole[i], json_dumps(after, JSON_COMPACT));
		json_decref(before);
		json_decref(after);
		seen[event.type] = true;
	}
	for (size_t i = 0; i < XP_EV_TYPE_COUNT; i++)
		assert_true(seen[i]);
}

/* What the map says reaches the members that correlation uses. */
static void attributes_fill_the_event(void **state)
{
	xp_auto(xp_store_free) struct xp_store *store = xp_store_new(3);
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	xp_auto_err err = { 0 };
	struct xp_event event;

	assert_int_equal(load(store, arena, whole[0], &event, &err), 0);
	assert_true(event.flags & XP_EVF_HAS_SP);
	assert_int_equal(event.host.sp, UINT64_C(140737488355328));
	assert_int_equal(event.error_ns, 0);
	assert_int_equal(load(store, arena, whole[1], &event, &err), 0);
	assert_int_equal(event.flags, XP_EVF_HAS_SP | XP_EVF_GOROUTINE);
	assert_int_equal(event.host.key, UINT64_C(824633720832));
	assert_int_equal(load(store, arena, whole[9], &event, &err), 0);
	assert_string_equal(xp_store_text(store, event.site), "cudaLaunchKernel");
	assert_int_equal(load(store, arena, whole[11], &event, &err), 0);
	assert_int_equal(event.gpu.graph, 3);
	assert_int_equal(event.error_ns, 211);
	assert_true(event.flags & XP_EVF_GRAPH_NODE && event.flags & XP_EVF_LAUNCH_UNKNOWN && event.flags & XP_EVF_GRAPH_PREDATES);
	assert_int_equal(xp_store_detail(store, &event)->gpu.node, UINT64_MAX);
	assert_null(xp_store_detail(store, &event)->attributes);
	assert_int_equal(load(store, arena, whole[13], &event, &err), 0);
	assert_int_equal(event.error_ns, XP_ERROR_UNKNOWN);
}

static void graph_launches_are_marked(void **state)
{
	xp_auto(xp_store_free) struct xp_store *store = xp_store_new(3);
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	xp_auto_err err = { 0 };
	struct xp_event event;

	assert_int_equal(load(store, arena,
			      HEAD("cupti_callback", "cuda_api_entry", "host_monotonic", "null")
				      CUDA("17", "2", "null", NO_TIMES, "null",
					   "null") "\"attributes\":{\"cuda_api_name\":\"cudaGraphLaunch_ptsz\"}}",
			      &event, &err),
			 0);
	assert_true(event.flags & XP_EVF_GRAPH_LAUNCH);
}

/* Contract 9.1 rule 7: 2^32-1 stands for an unknown id. */
static void all_ones_is_unknown(void **state)
{
	xp_auto(xp_store_free) struct xp_store *store = xp_store_new(3);
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	xp_auto_err err = { 0 };
	struct xp_event event;
	struct xp_event_doc doc;

	assert_int_equal(load(store, arena,
			      HEAD("cupti_activity", "gpu_memset_end", NORM, "1")
				      CUDA("4294967295", "null", "null", END, "8", "null") "\"attributes\":{}}",
			      &event, &err),
			 0);
	assert_true(event.flags & XP_EVF_NO_CORRELATION);
	xp_event_doc_make(store, &event, "s", arena, &doc);
	assert_false(doc.cuda->correlation_id.set);
}

/* A thread or file may be called U+FFFF and digits, which once was written as a number and not read back. */
static void hostile_names_stay_text(void **state)
{
	xp_auto(xp_store_free) struct xp_store *store = xp_store_new(3);
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_site site = { .probe_kind = XP_PROBE_UPROBE,
				.symbol = "\xef\xbf\xbf"
					  "17",
				.binary_path = "/\xff\x01\"\\" };
	struct xp_event event = { .type = XP_EV_HOST_FUNCTION_ENTRY, .detail = XP_NO_DETAIL, .tid = 43 };
	struct xp_event_doc doc;

	event.site = xp_store_site(store, &site);
	xp_store_thread(store, 43,
			"\xef\xbf\xbf"
			"19",
			0, 0);
	xp_event_doc_make(store, &event, "s", arena, &doc);
	json_t *value = written(&doc, false);
	json_t *host = json_object_get(value, "host");
	assert_string_equal(json_string_value(json_object_get(host, "symbol")), "\xef\xbf\xbd"
										"17");
	assert_string_equal(json_string_value(json_object_get(host, "binary_path")), "/\xef\xbf\xbd\x01\"\\");
	assert_string_equal(json_string_value(json_object_get(json_object_get(value, "attributes"), "thread_name")), "\xef\xbf\xbd"
														     "19");
	json_decref(value);
}

static void misfits_are_refused(void **state)
{
	static const char *const bad[] = {
		HEAD("ebpf", "syscall_entry", "host_monotonic", "null") "\"host\":null,\"cuda\":null,\"attributes\":{}}",
		HEAD("cupti_activity", "gpu_kernel_start", NORM, "1") "\"host\":null,\"cuda\":null,\"attributes\":{}}",
		HEAD("cupti_activity", "gpu_kernel_start", NORM, "1") HOST("uprobe", "f", RET("null") NO_ARGS) "\"attributes\":{}}",
		HEAD("cupti_callback", "nvtx_range_end", "host_monotonic", "null") "\"host\":null,\"cuda\":null,\"attributes\":{}}",
		HEAD("ebpf", "host_function_entry", "host_monotonic", "null") HOST("uprobe", "f", RET("null") NO_ARGS) "\"attributes\":[]}",
		HEAD("ebpf", "host_function_entry", "host_monotonic", "null")
			HOST("uprobe", "f", RET("null") NO_ARGS) "\"attributes\":{},\"extra\":1}",
		HEAD("ebpf", "host_function_entry", "host_monotonic", "null")
			HOST("uprobe", "f", RET("null") NO_ARGS ",\"extra\":1") "\"attributes\":{}}",
		HEAD("ebpf", "host_function_entry", "wall_clock", "null") HOST("uprobe", "f", RET("null") NO_ARGS) "\"attributes\":{}}",
		HEAD("ebpf", "host_function_entry", "host_monotonic", "null")
			HOST("uprobe", "f", RET("null") NO_ARGS) "\"attributes\":null}",
	};

	for (size_t i = 0; i < XP_LEN(bad); i++) {
		xp_auto(xp_store_free) struct xp_store *store = xp_store_new(3);
		xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
		xp_auto_err err = { 0 };
		struct xp_event event;

		if (load(store, arena, bad[i], &event, &err) != -XP_E_TRACE_EXPORT_FAILED)
			fail_msg("accepted: %s", bad[i]);
	}
}

static void invalid_times_are_flagged(void **state)
{
	static const char *const times[] = {
		"\"start_ns\":0,\"end_ns\":null",
		"\"start_ns\":9223372036854775808,\"end_ns\":null",
		"\"start_ns\":1013,\"end_ns\":1012",
	};

	for (size_t i = 0; i < XP_LEN(times); i++) {
		xp_auto(xp_store_free) struct xp_store *store = xp_store_new(3);
		xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
		xp_auto_err err = { 0 };
		xp_auto_builder text = { 0 };
		struct xp_event event;
		struct xp_event_doc doc;
		const char *good = whole[11], *at = strstr(good, START);

		xp_text_add(&text, good, (size_t)(at - good));
		xp_text_str(&text, times[i]);
		xp_text_str(&text, at + strlen(START));
		assert_int_equal(load(store, arena, text.data, &event, &err), 0);
		assert_true(event.flags & XP_EVF_INVALID_TIME);
		xp_event_doc_make(store, &event, "s", arena, &doc);
		assert_true(doc.cuda->start_ns.set);
	}
}

static void sparse_events_leave_out_what_is_null(void **state)
{
	xp_auto(xp_store_free) struct xp_store *store = xp_store_new(3);
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	xp_auto_err err = { 0 };
	struct xp_event event;
	struct xp_event_doc doc;

	assert_int_equal(load(store, arena, whole[2], &event, &err), 0);
	xp_event_doc_make(store, &event, NULL, arena, &doc);
	json_t *value = written(&doc, true);
	static const char *const gone[] = { "schema_version", "session_id", "cpu", "timestamp_error_ns", "cuda", "nvtx", "attributes" };
	for (size_t i = 0; i < XP_LEN(gone); i++)
		assert_null(json_object_get(value, gone[i]));
	assert_string_equal(json_string_value(json_object_get(value, "event_id")), "evt_7");
	json_decref(value);
}

static void long_names_are_cut_and_say_so(void **state)
{
	xp_auto(xp_store_free) struct xp_store *store = xp_store_new(3);
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	xp_auto_err err = { 0 };
	struct xp_event event;
	struct xp_event_doc doc;
	char name[5001];

	memset(name, 'k', sizeof(name) - 1);
	memcpy(name + 255, "\xc3\xa9", 2); /* two bytes across the bound of 256 */
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(load(store, arena, whole[11], &event, &err), 0);
	struct xp_event_detail *detail = (struct xp_event_detail *)xp_store_detail(store, &event);
	detail->gpu.name = xp_store_intern(store, name, strlen(name));
	xp_event_doc_make(store, &event, "s", arena, &doc);
	assert_int_equal(strlen(doc.cuda->kernel_name), XP_NAME_MAX_ARTIFACT);
	assert_true(json_is_false(json_object_get(doc.attributes, "name_complete")));
	xp_event_doc_cut(&doc, XP_NAME_MAX_RESULT, arena);
	assert_int_equal(strlen(doc.cuda->kernel_name), 255);

	struct xp_site site = { .probe_kind = XP_PROBE_UPROBE, .symbol = name };
	event = (struct xp_event){ .type = XP_EV_HOST_FUNCTION_ENTRY, .detail = XP_NO_DETAIL, .site = xp_store_site(store, &site) };
	xp_event_doc_make(store, &event, "s", arena, &doc);
	assert_int_equal(strlen(doc.host->symbol), XP_NAME_MAX_ARTIFACT);
	assert_string_equal(doc.host->symbol + XP_NAME_MAX_ARTIFACT - 3, "\xe2\x80\xa6");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_round_trips),	 cmocka_unit_test(attributes_fill_the_event),
		cmocka_unit_test(graph_launches_are_marked),	 cmocka_unit_test(misfits_are_refused),
		cmocka_unit_test(all_ones_is_unknown),		 cmocka_unit_test(hostile_names_stay_text),
		cmocka_unit_test(invalid_times_are_flagged),	 cmocka_unit_test(sparse_events_leave_out_what_is_null),
		cmocka_unit_test(long_names_are_cut_and_say_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
