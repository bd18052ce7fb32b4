/* SPDX-License-Identifier: Apache-2.0 */
/* The MeasurementResult: members, sizes, warnings (contract 10.3, 1.1, 1.6). */
#include "measured.h"

static json_t *document(struct xp_measurement *value, size_t *ret_len)
{
	xp_auto_builder out = { 0 };
	struct xp_json json = { .out = &out };
	char why[160];

	xp_record_write(&json, &xp_measurement_record, value, false);
	*ret_len = out.len;
	json_t *parsed = xp_json_parse(out.data, out.len, why, sizeof(why));
	if (!parsed)
		print_error("%s\n", why);
	assert_non_null(parsed);
	return parsed;
}

static void a_default_result_of_100_samples_stays_below_6_kb(void **state)
{
	struct setting s;
	size_t len;

	set(&s, mmaps(100));
	json_t *doc = document(make(&s), &len);
	if (len > 6144)
		print_error("%zu bytes\n", len);
	assert_true(len <= 6144);
	json_decref(doc);
	done(&s);
}

static void the_same_of_a_function_of_a_server(void **state)
{
	struct capture *c = capture_new(XP_POLICY_STACK_NESTED, XP_EV_HOST_FUNCTION_ENTRY, XP_EV_HOST_FUNCTION_EXIT);
	struct xp_site site = { XP_PROBE_UPROBE, "/usr/lib/app/server", "0123456789abcdef0123456789abcdef01234567", "handle_request" };
	struct setting s;
	size_t len;

	site.offset = (struct xp_opt_u64)XP_SOME(123456);
	for (unsigned i = 0; i < 200; i++) {
		struct xp_event e = event_of(c, 1000000000000 + 100000 * (uint64_t)i, 1 + i % 2);

		e.tid = 4311;
		e.cpu_valid = 1;
		e.site = xp_store_site(c->store, &site);
		e.flags = XP_EVF_HAS_SP;
		e.host.sp = 0x7ffd12345678;
		put(c, e);
	}
	xp_store_thread(c->store, 4311, "server", 0, 0);
	correlate(c);
	set(&s, c);
	c->start.selector = "uprobe:/usr/lib/app/server:handle_request:entry";
	c->end.selector = "uprobe:/usr/lib/app/server:handle_request:return";
	json_decref(document(make(&s), &len));
	if (len > 6144)
		print_error("%zu bytes\n", len);
	assert_true(len <= 6144);
	done(&s);
}

static void members_of_the_example(void **state)
{
	struct setting s;
	size_t len;
	json_int_t matched, p50, p99, host, cuda;
	const char *status, *method, *verdict, *rank, *mode;
	double mean, score;

	set(&s, mmaps(101));
	json_t *doc = document(make(&s), &len);
	assert_int_equal(json_unpack(doc, "{s:s, s:{s:{s:I}, s:{s:I, s:I, s:f}}, s:{s:s, s:f}, s:{s:I, s:I}, s:{s:s}, s:{s:s}}", "status",
				     &status, "measurement", "samples", "matched", &matched, "latency_ns", "p50", &p50, "p99", &p99, "mean",
				     &mean, "correlation", "method", &method, "score", &score, "collection", "host_events", &host,
				     "cuda_events", &cuda, "quality", "verdict", &verdict, "evidence", "mode", &mode),
			 0);
	assert_string_equal(status, "completed");
	assert_int_equal(matched, 101);
	assert_int_equal(p50, 2000 + 100 * 50);
	assert_int_equal(p99, 2000 + 100 * 99);
	assert_true(mean == 7000.0);
	assert_true(score == 1.0);
	assert_int_equal(host, 202);
	assert_int_equal(cuda, 0);
	assert_string_equal(verdict, "good");
	assert_string_equal(mode, "summary");
	json_t *evidence = json_object_get(doc, "evidence"), *exemplars = json_object_get(evidence, "exemplars");
	assert_true(json_is_null(json_object_get(evidence, "pairs")));
	assert_int_equal(json_array_size(exemplars), 5);
	json_t *start = json_object_get(json_array_get(exemplars, 4), "start");
	assert_int_equal(json_unpack(json_array_get(exemplars, 4), "{s:s}", "rank", &rank), 0);
	assert_string_equal(rank, "max");
	assert_null(json_object_get(start, "schema_version"));
	assert_null(json_object_get(start, "session_id"));
	assert_null(json_object_get(start, "cuda"));
	assert_non_null(json_object_get(start, "timestamp_ns"));
	json_decref(doc);
	done(&s);
}

static void full_evidence_lists_every_pair(void **state)
{
	struct setting s;
	size_t len;

	set(&s, mmaps(7));
	s.request.evidence = XP_EVIDENCE_FULL;
	json_t *doc = document(make(&s), &len), *pairs = json_object_get(json_object_get(doc, "evidence"), "pairs");
	assert_int_equal(json_array_size(pairs), 7);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(pairs, 6), "latency_ns")), 2600);
	json_decref(doc);
	done(&s);
}

/* details.partial of a capture without a pair. */
static void a_partial_without_pairs(void **state)
{
	struct setting s;
	size_t len;

	set(&s, mmaps(0));
	s.facts.status = XP_FAILED;
	s.request.artifact = NULL;
	json_t *doc = document(make(&s), &len), *measured = json_object_get(doc, "measurement");
	assert_string_equal(json_string_value(json_object_get(doc, "status")), "failed");
	assert_true(json_is_null(json_object_get(measured, "latency_ns")));
	assert_true(json_is_null(json_object_get(json_object_get(doc, "correlation"), "score")));
	assert_int_equal(json_array_size(json_object_get(json_object_get(doc, "evidence"), "exemplars")), 0);
	json_decref(doc);
	done(&s);
}

/* Five exemplars whose names fill their 256 bytes with characters that are written as six. */
static void long_names_shrink_until_the_budget_is_kept(void **state)
{
	struct setting s;
	struct capture *c = capture_new(XP_POLICY_EXACT, XP_EV_GPU_KERNEL_START, XP_EV_GPU_KERNEL_END);
	char name[4000];
	size_t len;

	memset(name, 1, sizeof(name));
	for (unsigned i = 0; i < 200; i++) {
		struct xp_event e = event_of(c, 1000 + 10 * i, 1 + i % 2);
		struct xp_event_detail *detail;

		e.source = XP_SRC_CUPTI_ACTIVITY;
		e.clock = XP_CLOCK_CUPTI_NORMALIZED;
		e.gpu.context = 1;
		e.gpu.correlation = i / 2;
		e.detail = xp_store_detail_new(c->store, &detail);
		detail->gpu.name = detail->gpu.function = xp_store_intern(c->store, name, sizeof(name));
		put(c, e);
	}
	correlate(c);
	set(&s, c);
	struct xp_measurement *value = make(&s);
	json_decref(document(value, &len));
	assert_true(len > 16384);
	assert_true(xp_measurement_shrink(value));
	assert_true(xp_measurement_shrink(value));
	assert_false(xp_measurement_shrink(value));
	json_decref(document(value, &len));
	if (len > 16384)
		print_error("%zu bytes\n", len);
	assert_true(len <= 16384);
	done(&s);
}

static void warnings_are_told_once(void **state)
{
	struct setting s;
	struct xp_warnings given = { 0 };

	set(&s, mmaps(100));
	given.arena = s.arena;
	xp_warn(&given, "HEURISTIC_CORRELATION", NULL, "said at planning");
	s.request.warnings = &given;
	s.request.edge.policy = XP_POLICY_FIRST_AFTER;
	s.window.exec_seen = true;
	s.window.children = 2;
	struct xp_measurement *value = make(&s);
	assert_int_equal(value->n_warnings, 3);
	assert_string_equal(value->warnings[0].message, "said at planning");
	assert_string_equal(value->warnings[1].code, "TARGET_EXEC");
	assert_string_equal(value->warnings[2].code, "TARGET_FORKED");
	done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_default_result_of_100_samples_stays_below_6_kb),
		cmocka_unit_test(the_same_of_a_function_of_a_server),
		cmocka_unit_test(members_of_the_example),
		cmocka_unit_test(full_evidence_lists_every_pair),
		cmocka_unit_test(a_partial_without_pairs),
		cmocka_unit_test(long_names_shrink_until_the_budget_is_kept),
		cmocka_unit_test(warnings_are_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
