/* SPDX-License-Identifier: Apache-2.0 */
/* What a format says of a capture: jsonl reads back as the same capture, chrome places each Event where the viewer wants it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "output/output.h"
#include "result/event_record.h"
#include "result/input.h"

enum { PAIRS = 10007 };

/* Interleaved calls and kernels; the calls' threads have names, the kernels streams. */
static struct xp_store *capture(void)
{
	struct xp_store *store = xp_store_new(2 * PAIRS);
	const struct xp_site site = { .probe_kind = XP_PROBE_SYSCALL, .symbol = "mmap" };
	uint32_t call = xp_store_site(store, &site), kernel = xp_store_intern(store, "_Z3addPf", 8);
	struct xp_opt_u64 born = XP_SOME(8812345);

	xp_store_thread(store, 43, "worker", 3, 2);
	for (uint64_t i = 0; i < PAIRS; i++) {
		struct xp_event_detail *detail;
		uint32_t index = xp_store_detail_new(store, &detail);
		struct xp_event event = { .t_ns = 1000 + 2 * i,
					  .sequence = 2 * i,
					  .pid = 41,
					  .tid = 43,
					  .site = call,
					  .detail = index,
					  .type = XP_EV_SYSCALL_ENTRY,
					  .cpu_valid = 1,
					  .process = xp_store_process(store, 41, born) };

		detail->args[5] = ~i;
		assert_true(xp_store_add(store, &event));
		index = xp_store_detail_new(store, &detail);
		detail->gpu.name = kernel;
		detail->gpu.name_complete = 1;
		detail->gpu.have = XP_GPU_START;
		detail->gpu.start_ns = 1001 + 2 * i;
		event = (struct xp_event){ .t_ns = 1001 + 2 * i,
					   .sequence = 2 * i + 1,
					   .pid = 41,
					   .site = kernel,
					   .detail = index,
					   .type = XP_EV_GPU_KERNEL_START,
					   .source = XP_SRC_CUPTI_ACTIVITY,
					   .clock = XP_CLOCK_CUPTI_NORMALIZED,
					   .error_ns = i % 2 ? 211 : XP_ERROR_UNKNOWN,
					   .process = xp_store_process(store, 41, born) };
		event.gpu.stream = UINT64_MAX - i;
		event.gpu.correlation = (uint32_t)i;
		assert_true(xp_store_add(store, &event));
	}
	return store;
}

static int collect(void *arg, const char *bytes, size_t len, struct xp_err *reterr)
{
	xp_text_add(arg, bytes, len);
	return 0;
}

static void write_all(const char *format, struct xp_store *store, struct xp_text *ret_text)
{
	const struct xp_output_input input = { .store = store, .session_id = "xp_test_1_00000000" };
	const struct xp_sink sink = { .write = collect, .arg = ret_text };
	xp_auto_err err = { 0 };

	assert_int_equal(xp_output_find(format)->write(&input, &sink, &err), 0);
}

static void jsonl_reads_back_as_the_same_capture(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	xp_auto(xp_store_free) struct xp_store *store = capture();
	xp_auto(xp_store_free) struct xp_store *again = NULL;
	struct xp_input_options options = { .max_events = 2 * PAIRS };
	char path[64];
	const char *paths[] = { path };
	struct xp_input_summary summary;
	struct xp_artifact_file *file;
	struct xp_artifact artifact;
	xp_auto_builder first = { 0 };
	xp_auto_builder second = { 0 };
	xp_auto_err err = { 0 };

	snprintf(path, sizeof(path), "/tmp/formats-test-%d.jsonl", (int)getpid());
	assert_int_equal(xp_artifact_open(path, &file, &err), 0);
	const struct xp_output_input input = { .store = store, .session_id = "xp_test_1_00000000" };
	assert_int_equal(xp_output_file(xp_output_find("jsonl"), &input, file, arena, &artifact, &err), 0);
	assert_int_equal(artifact.event_count.v, 2 * PAIRS);
	assert_string_equal(artifact.format, "jsonl");
	assert_string_equal(artifact.path, path);
	int rc = xp_input_read(paths, 1, &options, &again, &summary, &err);
	unlink(path);
	if (rc)
		fail_msg("%s", err.message);
	assert_int_equal(summary.host_events, PAIRS);
	assert_int_equal(summary.cuda_events, PAIRS);
	assert_true(summary.have_target);
	write_all("jsonl", store, &first);
	write_all("jsonl", again, &second);
	assert_int_equal(first.len, artifact.bytes);
	assert_string_equal(first.data, second.data);
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static uint64_t number_of(const json_t *object, const char *key)
{
	uint64_t value;

	assert_true(xp_json_get_u64(json_object_get(object, key), &value));
	return value;
}

static void chrome_places_every_event(void **state)
{
	xp_auto(xp_store_free) struct xp_store *store = capture();
	xp_auto_builder text = { 0 };
	char why[160];

	write_all("chrome", store, &text);
	json_t *trace = xp_json_parse(text.data, text.len, why, sizeof(why));
	assert_non_null(trace);
	assert_string_equal(text_of(trace, "displayTimeUnit"), "ns");
	json_t *events = json_object_get(trace, "traceEvents");
	assert_int_equal(json_array_size(events), 2 * PAIRS);
	for (uint64_t i = 0; i < PAIRS; i++) {
		const json_t *call = json_array_get(events, 2 * i), *kernel = json_array_get(events, 2 * i + 1);

		assert_string_equal(text_of(call, "ph"), "i");
		assert_string_equal(text_of(call, "s"), "t");
		assert_string_equal(text_of(call, "cat"), "host");
		assert_string_equal(text_of(call, "name"), "mmap");
		assert_int_equal(number_of(call, "ts"), (1000 + 2 * i) / 1000);
		assert_int_equal(number_of(call, "tid"), 43);
		assert_int_equal(number_of(json_object_get(call, "args"), "timestamp_ns"), 1000 + 2 * i);
		assert_string_equal(text_of(kernel, "cat"), "cuda.activity");
		assert_string_equal(text_of(kernel, "name"), "_Z3addPf");
		assert_int_equal(number_of(kernel, "tid"), UINT64_MAX - i);
		assert_int_equal(number_of(json_object_get(kernel, "args"), "stream_id"), UINT64_MAX - i);
	}
	json_decref(trace);
}

static int refuse_second(void *arg, const char *bytes, size_t len, struct xp_err *reterr)
{
	int *writes = arg;

	return ++*writes < 2 ? 0 : xp_fail(reterr, XP_E_OUTPUT_FAILED, "full");
}

static bool stop_now(void)
{
	return true;
}

static void writers_stop_at_once(void **state)
{
	xp_auto(xp_store_free) struct xp_store *store = capture();
	size_t n;
	const struct xp_output *const *all = xp_outputs(&n);

	for (size_t i = 0; i < n; i++) {
		struct xp_output_input input = { .store = store, .session_id = "s" };
		int writes = 0;
		const struct xp_sink sink = { .write = refuse_second, .arg = &writes };
		xp_auto_err err = { 0 };

		if (!(all[i]->takes & XP_TAKES_EVENTS))
			continue;
		assert_int_equal(all[i]->write(&input, &sink, &err), -XP_E_OUTPUT_FAILED);
		assert_int_equal(writes, 2);
		input.stop = stop_now;
		writes = 0;
		assert_int_equal(all[i]->write(&input, &sink, &err), -XP_E_CANCELLED);
		assert_int_equal(writes, 0);
	}
}

static void formats_are_chosen_by_mode(void **state)
{
	const struct xp_output *output;
	xp_auto_err err = { 0 };

	assert_int_equal(xp_output_choose(NULL, "jsonl", XP_TAKES_EVENTS, &output, &err), 0);
	assert_string_equal(output->name, "jsonl");
	assert_int_equal(xp_output_choose("chrome", "jsonl", XP_TAKES_EVENTS, &output, &err), 0);
	assert_string_equal(output->name, "chrome");
	assert_int_equal(xp_output_choose("pprof", "jsonl", XP_TAKES_EVENTS, &output, &err), -XP_E_INVALID_ARGUMENT);
	assert_int_equal(xp_output_choose("jsonl", "folded", XP_TAKES_CPU_SAMPLES, &output, &err), -XP_E_INVALID_ARGUMENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jsonl_reads_back_as_the_same_capture),
		cmocka_unit_test(chrome_places_every_event),
		cmocka_unit_test(writers_stop_at_once),
		cmocka_unit_test(formats_are_chosen_by_mode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
