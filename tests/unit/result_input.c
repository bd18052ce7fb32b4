/* SPDX-License-Identifier: Apache-2.0 */
/* JSON inputs and the merge: order, identity, what is refused, and that nothing but a regular file is ever waited for. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "result/event_record.h"
#include "result/input.h"

static int enter(void **state)
{
	char *folder = strdup("/tmp/input-test-XXXXXX");

	if (!mkdtemp(folder) || chdir(folder))
		return -1;
	*state = folder;
	return 0;
}

static int leave(void **state)
{
	static const char *const names[] = { "a", "b", "c", "fifo" };

	for (size_t i = 0; i < XP_LEN(names); i++)
		unlink(names[i]);
	rmdir("folder");
	int rc = chdir("/");
	rc |= rmdir(*state);
	free(*state);
	return rc;
}

static void put_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* A system call event; `start_time` 0 is null. */
static void add_event(struct xp_text *text, unsigned pid, uint64_t t, uint64_t sequence, unsigned tid, unsigned start_time)
{
	xp_text_fmt(text,
		    "{\"schema_version\":\"2.0\",\"session_id\":\"xp_old_1_00000000\",\"event_id\":\"evt_%llu\",\"sequence\":%llu,"
		    "\"source\":\"ebpf\",\"event_type\":\"syscall_exit\",\"pid\":%u,\"tid\":%u,\"cpu\":1,\"timestamp_raw\":%llu,"
		    "\"timestamp_ns\":%llu,\"clock_domain\":\"host_monotonic\",\"timestamp_error_ns\":null,\"process_start_time\":",
		    (unsigned long long)sequence, (unsigned long long)sequence, pid, tid, (unsigned long long)t, (unsigned long long)t);
	if (start_time)
		xp_text_fmt(text, "%u", start_time);
	else
		xp_text_str(text, "null");
	xp_text_str(text,
		    ",\"host\":{\"probe_kind\":\"syscall\",\"binary_path\":null,\"build_id\":null,\"symbol\":\"restart_syscall\","
		    "\"symbol_demangled\":null,\"offset\":null,\"return_value\":-4,\"arguments\":[]},\"cuda\":null,\"attributes\":{}}");
}

static int read_files(const char *const *paths, size_t n, struct xp_store **ret_store, struct xp_input_summary *ret_summary,
		      struct xp_err *err)
{
	struct xp_input_options options = { .max_events = 1000 };

	return xp_input_read(paths, n, &options, ret_store, ret_summary, err);
}

static int read_text(const char *text, struct xp_store **ret_store, struct xp_input_summary *ret_summary, struct xp_err *err)
{
	const char *paths[] = { "a" };

	put_file("a", text);
	return read_files(paths, 1, ret_store, ret_summary, err);
}

static void assert_refused(const char *text, enum xp_err_code code)
{
	xp_auto(xp_store_free) struct xp_store *store = NULL;
	struct xp_input_summary summary;
	xp_auto_err err = { 0 };

	if (read_text(text, &store, &summary, &err) != -(int)code)
		fail_msg("code %s for: %.200s", xp_err_name(err.code), text);
	assert_null(store);
}

/* Order: time, then file, then sequence, then place in the file; the tid tells which event is which. */
static void files_are_merged_in_order(void **state)
{
	xp_auto(xp_store_free) struct xp_store *store = NULL;
	xp_auto_builder a = { 0 };
	xp_auto_builder b = { 0 };
	static const char *const paths[] = { "b", "a" };
	static const unsigned expected[] = { 23, 2, 3, 5, 7, 11, 13, 17, 19 };
	struct xp_input_summary summary;
	xp_auto_err err = { 0 };

	add_event(&b, 41, 200, 9, 7, 8812345);
	xp_text_str(&b, "\n \r\n\n");
	add_event(&b, 41, 100, 4, 5, 8812345);
	xp_text_str(&b, "\r\n");
	add_event(&b, 41, 100, 3, 2, 8812345);
	xp_text_str(&b, "\n");
	add_event(&b, 41, 100, 3, 3, 8812345); /* no line end: still whole */
	add_event(&a, 41, 300, 1, 19, 8812345);
	xp_text_str(&a, "\n");
	add_event(&a, 41, 200, 0, 11, 8812345);
	xp_text_str(&a, "\n");
	add_event(&a, 41, 200, 0, 13, 8812345);
	xp_text_str(&a, "\n");
	add_event(&a, 41, 200, 0, 17, 8812345);
	xp_text_str(&a, "\n");
	add_event(&a, 41, 99, UINT64_MAX, 23, 8812345);
	xp_text_str(&a, "\n");
	put_file("a", a.data);
	put_file("b", b.data);
	if (read_files(paths, 2, &store, &summary, &err))
		fail_msg("%s", err.message);
	assert_int_equal(xp_store_count(store), XP_LEN(expected));
	for (size_t i = 0; i < XP_LEN(expected); i++) {
		const struct xp_event *event = xp_store_events(store) + i;

		assert_int_equal(event->tid, expected[i]);
		assert_int_equal(event->sequence, i);
		assert_int_equal(event->syscall_nr, 219);
	}
	assert_int_equal(summary.host_events, XP_LEN(expected));
	assert_int_equal(summary.cuda_events, 0);
	assert_true(summary.source_loss_unknown);
	assert_true(summary.have_target);
	assert_int_equal(summary.target.pid, 41);
	assert_int_equal(summary.target.process_start_time, 8812345);
}

static void a_target_needs_one_known_identity(void **state)
{
	static const unsigned second[] = { 0, 7 };

	for (size_t i = 0; i < XP_LEN(second); i++) {
		xp_auto(xp_store_free) struct xp_store *store = NULL;
		xp_auto_builder text = { 0 };
		struct xp_input_summary summary;
		xp_auto_err err = { 0 };

		add_event(&text, 41, 100, 0, 43, 5);
		xp_text_char(&text, '\n');
		add_event(&text, 41, 101, 1, 43, second[i]);
		assert_int_equal(read_text(text.data, &store, &summary, &err), 0);
		assert_false(summary.have_target);
	}
}

static void other_lines_are_refused(void **state)
{
	xp_auto_builder event = { 0 };
	xp_auto_builder text = { 0 };
	static const char *const behind[] = { "\n{\"schema_version\":", "\nnull\n", "\n[]\n", "\n{}\n", " x\n", "\n\"text\"\n" };

	add_event(&event, 41, 100, 0, 43, 5);
	for (size_t i = 0; i < XP_LEN(behind); i++) {
		text.len = 0;
		xp_text_str(&text, event.data);
		xp_text_str(&text, behind[i]);
		assert_refused(text.data, XP_E_TRACE_EXPORT_FAILED);
	}
	text.len = 0;
	xp_text_str(&text, event.data);
	xp_text_char(&text, '\n');
	add_event(&text, 42, 101, 1, 43, 5);
	assert_refused(text.data, XP_E_TRACE_EXPORT_FAILED); /* a second process */
	for (size_t len = 1; len < event.len; len += 7) {
		text.len = 0;
		xp_text_add(&text, event.data, len);
		assert_refused(text.data, XP_E_TRACE_EXPORT_FAILED);
	}
	assert_refused("", XP_E_TRACE_EXPORT_FAILED);
	assert_refused("\n \n", XP_E_TRACE_EXPORT_FAILED);
	assert_refused("\xef\xbb\xbf{}", XP_E_TRACE_EXPORT_FAILED);
	assert_refused("XPCUPTI", XP_E_TRACE_EXPORT_FAILED);
	char *version = strstr(event.data, "\"2.0\"");
	version[1] = '3';
	assert_refused(event.data, XP_E_TRACE_EXPORT_FAILED);
}

static void a_line_has_a_limit(void **state)
{
	xp_auto_builder text = { 0 };

	add_event(&text, 41, 100, 0, 43, 5);
	xp_text_str(&text, "\n{\"a\":\"");
	for (unsigned i = 0; i < (1 << 20); i++)
		xp_text_char(&text, 'x');
	xp_text_str(&text, "\"}\n");
	assert_refused(text.data, XP_E_TRACE_EXPORT_FAILED);
}

struct capture {
	unsigned target, captured, dropped, events;
	const char *limit; /* text of the optional member */
	bool lines;
	const char *behind;
};

static void put_capture(struct xp_text *text, const struct capture *capture)
{
	const char *gap = capture->lines ? "\n  " : "";

	text->len = 0;
	xp_text_fmt(text, "{%s\"schema_version\":\"2.0\",%s\"ok\":true,\"session_id\":\"xp_dev_1_00000000\",", gap, gap);
	xp_text_fmt(text, "\"target\":{\"pid\":%u,\"process_start_time\":5},%s\"probe_id\":1,\"captured\":%u,\"dropped\":%u,",
		    capture->target, gap, capture->captured, capture->dropped);
	xp_text_fmt(text, "\"timed_out\":true,%s%s\"events\":[", capture->limit, gap);
	for (unsigned i = 0; i < capture->events; i++) {
		xp_text_str(text, i ? "," : "");
		xp_text_str(text, gap);
		add_event(text, 41, 100 + i, i, 43, 5);
	}
	xp_text_fmt(text, "%s]}%s", gap, capture->behind);
}

static void host_captures_are_read(void **state)
{
	static const struct {
		struct capture capture;
		enum xp_err_code read, judged;
	} cases[] = {
		{ { 41, 3, 0, 3, "", false, "" }, 0, 0 },
		{ { 41, 3, 0, 3, "\"record_limit_reached\":false,", true, "\n\n" }, 0, 0 },
		{ { 41, 0, 0, 0, "", true, "" }, 0, 0 },
		{ { 41, 3, 2, 3, "", false, "" }, 0, XP_E_EVENTS_DROPPED },
		{ { 41, 3, 0, 3, "\"record_limit_reached\":true,", false, "" }, 0, XP_E_EVENT_RATE_TOO_HIGH },
		{ { 41, 2, 0, 3, "", false, "" }, XP_E_TRACE_EXPORT_FAILED, 0 },
		{ { 42, 3, 0, 3, "", false, "" }, XP_E_TRACE_EXPORT_FAILED, 0 },
		{ { 41, 3, 0, 3, "\"extra\":1,", false, "" }, XP_E_TRACE_EXPORT_FAILED, 0 },
		{ { 41, 3, 0, 3, "", false, "\n{}" }, XP_E_TRACE_EXPORT_FAILED, 0 },
		{ { 41, 3, 0, 3, "", true, "}" }, XP_E_TRACE_EXPORT_FAILED, 0 },
	};

	for (size_t i = 0; i < XP_LEN(cases); i++) {
		xp_auto(xp_store_free) struct xp_store *store = NULL;
		struct xp_input_summary summary;
		xp_auto_builder text = { 0 };
		xp_auto_err err = { 0 };

		put_capture(&text, &cases[i].capture);
		if (read_text(text.data, &store, &summary, &err) != -(int)cases[i].read)
			fail_msg("case %zu: %s", i, err.message);
		if (cases[i].read)
			continue;
		assert_int_equal(xp_store_count(store), cases[i].capture.events);
		assert_false(summary.source_loss_unknown);
		assert_int_equal(xp_input_judge(&summary, 1000, &err), -(int)cases[i].judged);
	}
}

static void only_regular_files_are_read(void **state)
{
	static const char *const odd[] = { "fifo", "folder", "/dev/zero", "/dev/null", "missing", "/dev/tty" };

	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(mkdir("folder", 0700), 0);
	for (size_t i = 0; i < XP_LEN(odd); i++) {
		xp_auto(xp_store_free) struct xp_store *store = NULL;
		struct xp_input_summary summary;
		xp_auto_err err = { 0 };

		assert_int_equal(read_files(&odd[i], 1, &store, &summary, &err), -XP_E_TRACE_EXPORT_FAILED);
		assert_non_null(strstr(err.object, odd[i]));
	}
}

static void bounds_of_files_are_kept(void **state)
{
	xp_auto(xp_store_free) struct xp_store *store = NULL;
	const char *paths[XP_INPUT_FILES_MAX + 1];
	struct xp_input_summary summary;
	xp_auto_err err = { 0 };

	for (size_t i = 0; i < XP_LEN(paths); i++)
		paths[i] = "a";
	assert_int_equal(read_files(paths, XP_LEN(paths), &store, &summary, &err), -XP_E_SESSION_LIMIT_EXCEEDED);
	assert_non_null(json_object_get(err.details, "limit"));
	put_file("a", "x");
	if (truncate("a", (off_t)(XP_INPUT_BYTES_MAX + 1)))
		skip(); /* a file system without large files */
	assert_int_equal(read_files(paths, 1, &store, &summary, &err), -XP_E_SESSION_LIMIT_EXCEEDED);
}

static bool at_once(void)
{
	return true;
}

static void a_signal_ends_reading(void **state)
{
	struct xp_input_options options = { .max_events = 1000, .stop = at_once };
	xp_auto(xp_store_free) struct xp_store *store = NULL;
	struct xp_input_summary summary;
	static const char *const paths[] = { "a" };
	xp_auto_builder text = { 0 };
	xp_auto_err err = { 0 };

	add_event(&text, 41, 100, 0, 43, 5);
	put_file("a", text.data);
	assert_int_equal(xp_input_read(paths, 1, &options, &store, &summary, &err), -XP_E_CANCELLED);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(files_are_merged_in_order), CASE(a_target_needs_one_known_identity),
		CASE(other_lines_are_refused),	 CASE(a_line_has_a_limit),
		CASE(host_captures_are_read),	 CASE(only_regular_files_are_read),
		CASE(bounds_of_files_are_kept),	 CASE(a_signal_ends_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
