/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI captures of ABI 4 and 5, written here byte by byte from the table of contract 10.16, and every way to break them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "result/event_record.h"
#include "result/input.h"

enum { HEAD_4 = 88, RECORD_4 = 200, HEAD_5 = 192, RECORD_5 = 128, N_RECORDS = 11, FILE_MAX = 8192 };
enum { UNKNOWN = 0xffffffff };

struct image {
	unsigned char at[FILE_MAX];
	size_t len, header, record;
};

static void put(struct image *image, size_t offset, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		image->at[offset + i] = (unsigned char)(value >> (8 * i));
}

static size_t record_at(const struct image *image, unsigned index)
{
	return image->header + index * image->record;
}

static void put_head(struct image *image, uint32_t abi, uint32_t features)
{
	image->header = abi == 4 ? HEAD_4 : HEAD_5;
	image->record = abi == 4 ? RECORD_4 : RECORD_5;
	memcpy(image->at, "XPCUPTI", 8);
	put(image, 8, abi, 4);
	put(image, 12, image->header, 4);
	put(image, 16, image->record, 4);
	put(image, 20, features, 4);
	put(image, 24, 3, 4);
	put(image, 28, 1, 4);
	put(image, 32, N_RECORDS, 8);
	put(image, 40, 4099, 8);
	put(image, 48, N_RECORDS, 8);
}

struct row {
	uint64_t t;
	uint32_t kind, tid, device, context, stream, correlation, domain, callback, grid[3], block[3], runtime;
	const char *name;
};

static const struct row rows[N_RECORDS] = {
	{ 1009, 1, 43, UNKNOWN, 1, UNKNOWN, 17, 2, 211, { 0 }, { 0 }, 0, "cudaLaunchKernel_v7000" },
	{ 1013, 1, 43, UNKNOWN, UNKNOWN, UNKNOWN, 17, 1, 307, { 0 }, { 0 }, 17, "cuGraphLaunch_ptsz" },
	{ 1019, 2, 43, 0, 1, UNKNOWN, 17, 2, 211, { 0 }, { 0 }, 0, "cudaLaunchKernel_v7000" },
	{ 1021, 3, 43, 0, 1, 7, 17, 0, 0, { 2, 3, 5 }, { 64, 1, 1 }, 0, "_Z3addPf" },
	{ 1031, 4, 43, 0, 1, 7, 17, 0, 0, { 2, 3, 5 }, { 64, 1, 1 }, 0, "_Z3addPf" },
	{ 1033, 5, 43, 0, 1, 7, 19, 0, 0, { 1, 1, 8 }, { 0 }, 0, "" },
	{ 1039, 6, 43, 0, 1, 7, 19, 0, 0, { 1, 1, 3 }, { 0 }, 0, "" },
	{ 1049, 7, 43, 0, 1, 7, 23, 0, 0, { 4096, 0, 0 }, { 255, 0, 0 }, 0, "" },
	{ 1051, 8, 43, 0, 1, 7, 23, 0, 0, { 4096, 0, 0 }, { 255, 0, 0 }, 0, "" },
	{ 1061, 9, 43, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, 0, 0, { 5, 1, 1 }, { 43, 1, 0 }, 0, "step \xc3\xa9" },
	{ 1063, 10, 47, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, 0, 0, { 6, 0, 2 }, { 43, 0, 0 }, 0, "step" },
};

static void put_common(struct image *image, unsigned index)
{
	const struct row *row = &rows[index];
	size_t at = record_at(image, index);
	const uint32_t words[] = {
		row->kind,     41,	     row->tid,	   row->device,	 row->context,	row->stream,   row->correlation, row->domain,
		row->callback, row->grid[0], row->grid[1], row->grid[2], row->block[0], row->block[1], row->block[2],	 row->runtime
	};

	put(image, at, row->t, 8);
	for (size_t i = 0; i < XP_LEN(words); i++)
		put(image, at + 8 + 4 * i, words[i], 4);
}

static struct image abi4(void)
{
	struct image image = { 0 };

	put_head(&image, 4, 1 | 2 | 8 | 16);
	for (unsigned i = 0; i < N_RECORDS; i++) {
		put_common(&image, i);
		memcpy(image.at + record_at(&image, i) + 72, rows[i].name, strlen(rows[i].name));
	}
	image.len = record_at(&image, N_RECORDS);
	return image;
}

/* Name ids 101.. in the order of rows; equal names get two ids, which is allowed. */
static struct image abi5(void)
{
	struct image image = { 0 };
	uint64_t count = 0;

	put_head(&image, 5, 1 | 2 | 8 | 32 | 64);
	size_t at = record_at(&image, N_RECORDS), table = at;
	for (unsigned i = 0; i < N_RECORDS; i++) {
		size_t len = strlen(rows[i].name), record = record_at(&image, i);

		put_common(&image, i);
		put(&image, record + 76, 8, 4);
		if (rows[i].kind == 5 || rows[i].kind == 6)
			put(&image, record + 84, 1 | 3 << 16, 4);
		if (!len)
			continue;
		put(&image, record + 72, 101 + i, 4);
		put(&image, at, 101 + i, 4);
		put(&image, at + 4, len, 4);
		memcpy(image.at + at + 8, rows[i].name, len);
		at += 8 + ((len + 7) & ~(size_t)7);
		count++;
	}
	put(&image, record_at(&image, 3) + 76, 1 | 2 | 4 | 8, 4);
	put(&image, record_at(&image, 3) + 80, 29, 4);
	put(&image, record_at(&image, 3) + 88, UINT64_C(0xfedcba9876543210), 8);
	put(&image, 88, table, 8);
	put(&image, 96, at - table, 8);
	put(&image, 104, count, 8);
	static const uint64_t counters[] = { 113, 127, 131, 137, 139, 149, 151 };
	for (size_t i = 0; i < XP_LEN(counters); i++)
		put(&image, 112 + 8 * i, counters[i], 8);
	put(&image, 168, 24, 4);
	put(&image, 172, 12040, 4);
	put(&image, 176, 157, 8);
	put(&image, 184, 163, 8);
	image.len = at;
	return image;
}

static int read_at_most(uint64_t max, const struct image *image, struct xp_store **ret_store, struct xp_input_summary *ret_summary,
			struct xp_err *err)
{
	char path[] = "/tmp/cupti-test-XXXXXX";
	int fd = mkstemp(path);
	const char *paths[] = { path };
	struct xp_input_options options = { .max_events = max };

	assert_true(fd >= 0);
	assert_int_equal(write(fd, image->at, image->len), image->len);
	close(fd);
	int rc = xp_input_read(paths, 1, &options, ret_store, ret_summary, err);
	unlink(path);
	return rc;
}

static int read_image(const struct image *image, struct xp_store **ret_store, struct xp_input_summary *ret_summary, struct xp_err *err)
{
	return read_at_most(1000, image, ret_store, ret_summary, err);
}

static struct xp_event_doc doc_at(struct xp_store *store, unsigned index, struct xp_arena *arena)
{
	struct xp_event_doc doc;

	xp_event_doc_make(store, xp_store_events(store) + index, "s", arena, &doc);
	return doc;
}

static const char *text_of(const struct xp_event_doc *doc, const char *key)
{
	return json_string_value(json_object_get(doc->attributes, key));
}

/* What both ABIs say alike. */
static void check_common(struct xp_store *store, struct xp_arena *arena)
{
	assert_int_equal(xp_store_count(store), N_RECORDS);
	for (unsigned i = 0; i < N_RECORDS; i++) {
		struct xp_event_doc doc = doc_at(store, i, arena);
		bool activity = rows[i].kind >= 3 && rows[i].kind <= 8;

		assert_int_equal(doc.timestamp_ns, rows[i].t);
		assert_int_equal(doc.timestamp_raw, rows[i].t);
		assert_int_equal(doc.sequence, i);
		assert_int_equal(doc.event_type, XP_EV_CUDA_API_ENTRY + rows[i].kind - 1);
		assert_int_equal(doc.pid, 41);
		assert_int_equal(doc.tid, activity ? 0 : rows[i].tid);
		assert_int_equal(doc.source, activity ? XP_SRC_CUPTI_ACTIVITY : XP_SRC_CUPTI_CALLBACK);
		assert_int_equal(doc.clock_domain, activity ? XP_CLOCK_CUPTI_NORMALIZED : XP_CLOCK_HOST);
		assert_false(doc.process_start_time.set);
		assert_false(doc.cpu.set);
		assert_null(doc.host);
		if (rows[i].kind >= 9)
			continue;
		assert_null(doc.nvtx);
		assert_int_equal(doc.cuda->start_ns.set, activity && rows[i].kind % 2 == 1);
		assert_int_equal(doc.cuda->end_ns.set, activity && rows[i].kind % 2 == 0);
		assert_int_equal(doc.cuda->device_id.set, rows[i].device != UNKNOWN);
		assert_int_equal(doc.cuda->context_id.set, rows[i].context != UNKNOWN);
		assert_int_equal(doc.cuda->stream_id.set, rows[i].stream != UNKNOWN);
		assert_int_equal(doc.cuda->correlation_id.v, rows[i].correlation);
	}
}

static void check_names(struct xp_store *store, struct xp_arena *arena)
{
	struct xp_event_doc doc = doc_at(store, 0, arena);

	assert_string_equal(text_of(&doc, "cuda_api_name"), "cudaLaunchKernel");
	assert_string_equal(text_of(&doc, "cuda_api_symbol"), "cudaLaunchKernel_v7000");
	assert_string_equal(text_of(&doc, "cuda_api_domain"), "runtime_api");
	assert_int_equal(doc.cuda->callback_id.v, 211);
	doc = doc_at(store, 1, arena);
	assert_string_equal(text_of(&doc, "cuda_api_name"), "cuGraphLaunch");
	assert_int_equal(doc.cuda->runtime_correlation_id.v, 17);
	assert_true(xp_store_events(store)[1].flags & XP_EVF_GRAPH_LAUNCH);
	assert_false(xp_store_events(store)[0].flags & XP_EVF_GRAPH_LAUNCH);
	doc = doc_at(store, 4, arena);
	assert_string_equal(doc.cuda->kernel_name, "_Z3addPf");
	assert_int_equal(doc.cuda->grid->z, 5);
	assert_int_equal(doc.cuda->block->x, 64);
	doc = doc_at(store, 5, arena);
	assert_int_equal(doc.cuda->bytes.v, UINT64_C(0x100000001));
	assert_int_equal(doc.cuda->memcpy_kind, XP_COPY_DTOD);
	assert_null(doc.cuda->grid);
	assert_int_equal(doc_at(store, 6, arena).cuda->memcpy_kind, XP_COPY_UNKNOWN);
	doc = doc_at(store, 7, arena);
	assert_true(doc.cuda->bytes.v == 4096 && doc.cuda->memcpy_kind == -1);
	assert_int_equal(json_integer_value(json_object_get(doc.attributes, "memset_value")), 255);
	doc = doc_at(store, 9, arena);
	assert_string_equal(doc.nvtx->name, "step \xc3\xa9");
	assert_int_equal(doc.nvtx->range_id, UINT64_C(0x100000005));
	assert_int_equal(doc.nvtx->range_kind, XP_RANGE_THREAD);
	assert_true(doc.nvtx->name_complete);
	doc = doc_at(store, 10, arena);
	assert_int_equal(doc.nvtx->range_kind, XP_RANGE_PROCESS);
	assert_int_equal(doc.nvtx->start_tid, 43);
	assert_false(doc.nvtx->name_complete);
}

static void abi_4_is_read(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	xp_auto(xp_store_free) struct xp_store *store = NULL;
	struct xp_input_summary summary;
	struct image image = abi4();
	xp_auto_err err = { 0 };

	assert_int_equal(image.len, HEAD_4 + N_RECORDS * RECORD_4);
	if (read_image(&image, &store, &summary, &err))
		fail_msg("%s", err.message);
	check_common(store, arena);
	check_names(store, arena);
	struct xp_event_doc doc = doc_at(store, 3, arena);
	assert_false(doc.timestamp_error_ns.set);
	assert_null(json_object_get(doc.attributes, "graph_id"));
	doc = doc_at(store, 5, arena);
	assert_null(json_object_get(doc.attributes, "src_memory"));
	assert_int_equal(summary.cuda_events, N_RECORDS);
	assert_int_equal(summary.cupti.record_capacity, 4099);
	assert_int_equal(summary.cupti.retained_records, N_RECORDS);
	assert_false(summary.cupti.counts_launches);
	assert_false(summary.source_loss_unknown);
	assert_int_equal(xp_input_judge(&summary, 1000, &err), 0);
}

static void abi_5_is_read(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	xp_auto(xp_store_free) struct xp_store *store = NULL;
	struct xp_input_summary summary;
	struct image image = abi5();
	xp_auto_err err = { 0 };

	if (read_image(&image, &store, &summary, &err))
		fail_msg("%s", err.message);
	check_common(store, arena);
	check_names(store, arena);
	struct xp_event_doc doc = doc_at(store, 3, arena);
	uint64_t node;
	assert_int_equal(doc.timestamp_error_ns.v, 151);
	assert_int_equal(json_integer_value(json_object_get(doc.attributes, "graph_id")), 29);
	assert_true(xp_json_get_u64(json_object_get(doc.attributes, "graph_node_id"), &node));
	assert_int_equal(node, UINT64_C(0xfedcba9876543210));
	assert_string_equal(text_of(&doc, "launch_link"), "unknown");
	assert_true(json_is_true(json_object_get(doc.attributes, "graph_predates_attach")));
	doc = doc_at(store, 5, arena);
	assert_string_equal(text_of(&doc, "src_memory"), "pageable");
	assert_string_equal(text_of(&doc, "dst_memory"), "device");
	static const struct xp_account expected_accounts[] = {
		{ .source = "cupti_callback", .emitted = 3, .delivered = 3 },
		{ .source = "cupti_activity", .emitted = 6 + 149, .delivered = 6, .filtered = 149 },
		{ .source = "nvtx", .emitted = 2, .delivered = 2 },
	};
	size_t n;
	struct xp_account *accounts = xp_input_accounts(&summary, arena, &n);
	assert_int_equal(n, XP_LEN(expected_accounts));
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(accounts[i].source, expected_accounts[i].source);
		assert_int_equal(accounts[i].emitted, expected_accounts[i].emitted);
		assert_int_equal(accounts[i].delivered, expected_accounts[i].delivered);
		assert_int_equal(accounts[i].filtered, expected_accounts[i].filtered);
	}
	const struct xp_input_cupti *cupti = &summary.cupti;
	const uint64_t got[] = { cupti->api_launches,	   cupti->activities_seen, cupti->graph_launches, cupti->invalid_time_records,
				 cupti->in_flight_at_stop, cupti->filtered,	   cupti->cupti_version,  cupti->driver_version,
				 cupti->stall_ns.v,	   cupti->callbacks,	   cupti->agent_abi };
	const uint64_t expected[] = { 113, 127, 131, 137, 139, 149, 24, 12040, 157, 163, 5 };
	assert_memory_equal(got, expected, sizeof(expected));
}

/* Without bit 0 the activities are in CUPTI's own clock; callbacks are always on the host's. */
static void clocks_follow_the_feature_bit(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	xp_auto(xp_store_free) struct xp_store *store = NULL;
	struct xp_input_summary summary;
	struct image image = abi5();
	xp_auto_err err = { 0 };

	put(&image, 20, 2 | 8 | 32 | 64, 4);
	assert_int_equal(read_image(&image, &store, &summary, &err), 0);
	assert_int_equal(doc_at(store, 0, arena).clock_domain, XP_CLOCK_HOST);
	assert_int_equal(doc_at(store, 3, arena).clock_domain, XP_CLOCK_CUPTI);
	assert_false(doc_at(store, 3, arena).timestamp_error_ns.set);
}

/* A name of 127 bytes was cut by the agent, here inside a character. */
static void a_full_name_of_abi_4_is_incomplete(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	xp_auto(xp_store_free) struct xp_store *store = NULL;
	struct xp_input_summary summary;
	struct image image = abi4();
	xp_auto_err err = { 0 };
	size_t name = record_at(&image, 3) + 72;

	memset(image.at + name, 'k', 126);
	image.at[name + 126] = 0xc3;
	assert_int_equal(read_image(&image, &store, &summary, &err), 0);
	struct xp_event_doc doc = doc_at(store, 3, arena);
	assert_true(strlen(doc.cuda->kernel_name) == 126 && json_is_false(json_object_get(doc.attributes, "name_complete")));
}

static void far_times_are_flagged_not_refused(void **state)
{
	xp_auto(xp_store_free) struct xp_store *store = NULL;
	struct xp_input_summary summary;
	struct image image = abi4();
	xp_auto_err err = { 0 };

	put(&image, record_at(&image, 3), UINT64_C(1) << 63, 8);
	assert_int_equal(read_image(&image, &store, &summary, &err), 0);
	assert_int_equal(summary.invalid_time_events, 1);
	assert_true(xp_store_events(store)[N_RECORDS - 1].flags & XP_EVF_INVALID_TIME);
}

/* One field of the file set to a value that no agent writes. `size`: bytes; 0: the file's length becomes `value`. */
struct harm {
	const char *what;
	size_t offset;
	uint64_t value;
	unsigned size;
};

static void check_harm(struct image (*make)(void), const struct harm *harm)
{
	xp_auto(xp_store_free) struct xp_store *store = NULL;
	struct xp_input_summary summary;
	struct image image = make();
	xp_auto_err err = { 0 };

	if (harm->size)
		put(&image, harm->offset, harm->value, harm->size);
	else
		image.len = harm->value;
	if (read_image(&image, &store, &summary, &err) != -XP_E_TRACE_EXPORT_FAILED)
		fail_msg("accepted: %s", harm->what);
}

/* Whatever the version. */
static const struct harm both[] = {
	{ "ABI 3", 8, 3, 4 },
	{ "ABI 6", 8, 6, 4 },
	{ "header size", 12, 96, 4 },
	{ "record size", 16, 136, 4 },
	{ "feature bit 7", 20, 1 << 7, 4 },
	{ "feature bit 31", 20, UINT64_C(1) << 31, 4 },
	{ "aggregates", 20, 4, 4 },
	{ "state 5", 24, 5, 4 },
	{ "one record too many", 32, N_RECORDS + 1, 8 },
	{ "one record too few", 32, N_RECORDS - 1, 8 },
	{ "a count that overflows", 32, UINT64_MAX / 100, 8 },
	{ "capacity below the count", 40, N_RECORDS - 1, 8 },
	{ "record offset", 80, 88, 8 },
	{ "cut in the header", 0, 87, 0 },
	{ "the magic alone", 0, 8, 0 },
};

static void broken_captures_are_refused(void **state)
{
	const struct image four = abi4(), five = abi5();
	const struct harm only4[] = {
		{ "name table bit in ABI 4", 20, 32, 4 },
		{ "graph bit in ABI 4", 20, 64, 4 },
		{ "cut record", 0, four.len - 1, 0 },
		{ "a byte behind", 0, four.len + 1, 0 },
		{ "kind 0", record_at(&four, 2) + 8, 0, 4 },
		{ "kind 11", record_at(&four, 2) + 8, 11, 4 },
		{ "timestamp 0", record_at(&four, 2), 0, 8 },
		{ "range kind 3", record_at(&four, 9) + 52, 3, 4 },
		{ "bad UTF-8", record_at(&four, 3) + 73, 0xff, 1 },
		{ "second process", record_at(&four, 2) + 12, 42, 4 },
	};
	const struct harm only5[] = {
		{ "cut in the second header", 0, 150, 0 },
		{ "cut name table", 0, five.len - 8, 0 },
		{ "a byte behind", 0, five.len + 1, 0 },
		{ "name table offset", 88, record_at(&five, N_RECORDS) - 8, 8 },
		{ "name table bytes", 96, UINT64_MAX, 8 },
		{ "name count too small", 104, 1, 8 },
		{ "name count too large", 104, UINT64_MAX, 8 },
		{ "name table without its bit", 20, 1, 4 },
		{ "unknown name id", record_at(&five, 3) + 72, 999, 4 },
		{ "name id 0 in the table", record_at(&five, N_RECORDS), 0, 4 },
		{ "name id twice", record_at(&five, N_RECORDS), 102, 4 },
		{ "name beyond the table", record_at(&five, N_RECORDS) + 4, UINT32_MAX, 4 },
		{ "bad UTF-8", record_at(&five, N_RECORDS) + 8, 0xff, 1 },
		{ "NUL in a name", record_at(&five, N_RECORDS) + 8, 0, 1 },
		{ "padding", record_at(&five, N_RECORDS) + 8 + 23, 1, 1 },
		{ "unknown record flag", record_at(&five, 3) + 76, 16, 4 },
		{ "zero bytes", record_at(&five, 3) + 127, 1, 1 },
		{ "kind 11", record_at(&five, 2) + 8, 11, 4 },
		{ "timestamp 0", record_at(&five, 2), 0, 8 },
	};

	for (size_t i = 0; i < XP_LEN(both); i++) {
		check_harm(abi4, &both[i]);
		check_harm(abi5, &both[i]);
	}
	for (size_t i = 0; i < XP_LEN(only4); i++)
		check_harm(abi4, &only4[i]);
	for (size_t i = 0; i < XP_LEN(only5); i++)
		check_harm(abi5, &only5[i]);
}

static void envelopes_are_judged(void **state)
{
	static const struct {
		size_t offset;
		uint64_t value;
		enum xp_err_code code;
		const char *key;
	} cases[] = {
		{ 56, 3, XP_E_EVENTS_DROPPED, "dropped_records" },	{ 64, 5, XP_E_EVENTS_DROPPED, "record_capacity" },
		{ 72, 7, XP_E_TRACE_EXPORT_FAILED, "unknown_records" }, { 24, 0, XP_E_CUPTI_NOT_AVAILABLE, "capture_state" },
		{ 24, 1, XP_E_CUPTI_NOT_AVAILABLE, "capture_state" },	{ 24, 2, XP_E_EVENT_RATE_TOO_HIGH, "record_capacity" },
		{ 24, 4, XP_E_CUPTI_NOT_AVAILABLE, "capture_state" },
	};

	for (size_t i = 0; i < XP_LEN(cases); i++) {
		xp_auto(xp_store_free) struct xp_store *store = NULL;
		struct xp_input_summary summary;
		struct image image = abi4();
		xp_auto_err err = { 0 };

		put(&image, cases[i].offset, cases[i].value, cases[i].offset == 24 ? 4 : 8);
		assert_int_equal(read_image(&image, &store, &summary, &err), 0);
		assert_int_equal(xp_input_judge(&summary, 1000, &err), -(int)cases[i].code);
		assert_non_null(json_object_get(err.details, cases[i].key));
	}
}

static void too_many_events_are_counted(void **state)
{
	xp_auto(xp_store_free) struct xp_store *store = NULL;
	struct xp_input_summary summary;
	struct image image = abi5();
	xp_auto_err err = { 0 };

	assert_int_equal(read_at_most(7, &image, &store, &summary, &err), 0);
	assert_int_equal(xp_store_count(store), 7);
	assert_int_equal(summary.events, N_RECORDS);
	assert_int_equal(xp_input_judge(&summary, 7, &err), -XP_E_EVENT_RATE_TOO_HIGH);
	assert_int_equal(json_integer_value(json_object_get(err.details, "observed_events")), N_RECORDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(abi_4_is_read),
		cmocka_unit_test(abi_5_is_read),
		cmocka_unit_test(clocks_follow_the_feature_bit),
		cmocka_unit_test(a_full_name_of_abi_4_is_incomplete),
		cmocka_unit_test(far_times_are_flagged_not_refused),
		cmocka_unit_test(broken_captures_are_refused),
		cmocka_unit_test(envelopes_are_judged),
		cmocka_unit_test(too_many_events_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
