/* SPDX-License-Identifier: Apache-2.0 */
/* The outcome table of contract 6.3 and 6.10, row by row, and the precedence of 1.5. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "result/outcome.h"

static const struct row {
	const char *what;
	enum xp_window_end end;
	uint64_t pairs, samples, dropped; /* samples 0: no such bound */
	bool capacity;
	double max_unmatched; /* 0: not given */
	enum xp_err_code code;
	enum xp_status status;
	const char *hidden;
} rows[] = {
	{ "samples reached", XP_END_SAMPLES, 100, 100, .status = XP_COMPLETED },
	{ "duration passed", XP_END_DURATION, 3, .status = XP_COMPLETED },
	{ "duration passed before the samples", XP_END_DURATION, 3, 100, .status = XP_COMPLETED },
	{ "duration without a pair", XP_END_DURATION, 0, .code = XP_E_NO_MATCHED_SAMPLES },
	{ "timeout with a pair", XP_END_TIMEOUT, 1, 100, .status = XP_TIMED_OUT },
	{ "timeout without a pair", XP_END_TIMEOUT, 0, 100, .code = XP_E_NO_MATCHED_SAMPLES },
	{ "timeout in the drain that met the bound", XP_END_TIMEOUT, 100, 100, .status = XP_COMPLETED },
	{ "full under a duration bound", XP_END_CAPACITY, 50, .code = XP_E_EVENT_RATE_TOO_HIGH },
	{ "full with too few samples", XP_END_CAPACITY, 50, 100, .code = XP_E_EVENT_RATE_TOO_HIGH },
	{ "full without any pair", XP_END_CAPACITY, 0, 100, .code = XP_E_EVENT_RATE_TOO_HIGH },
	{ "full at the moment the bound was met", XP_END_CAPACITY, 100, 100, .capacity = true, .status = XP_COMPLETED },
	{ "an event turned away although the duration ended the window", XP_END_DURATION, 50, .capacity = true,
	  .code = XP_E_EVENT_RATE_TOO_HIGH },
	{ "drops", XP_END_DURATION, 50, .dropped = 3, .code = XP_E_EVENTS_DROPPED },
	{ "drops hide a full capture", XP_END_CAPACITY, 50, .dropped = 3, .code = XP_E_EVENTS_DROPPED, .hidden = "EVENT_RATE_TOO_HIGH" },
	{ "cost limit with a pair", XP_END_COST, 1, 100, .status = XP_CANCELLED },
	{ "cost limit without a pair", XP_END_COST, 0, 100, .code = XP_E_EVENT_RATE_TOO_HIGH },
	{ "signal with a pair", XP_END_SIGNAL, 1, 100, .status = XP_CANCELLED },
	{ "signal without a pair", XP_END_SIGNAL, 0, 100, .code = XP_E_CANCELLED },
	{ "target gone", XP_END_TARGET_GONE, 50, .code = XP_E_TARGET_EXITED },
	{ "target gone hides drops", XP_END_TARGET_GONE, 50, .dropped = 1, .code = XP_E_TARGET_EXITED, .hidden = "EVENTS_DROPPED" },
	{ "unmatched above its limit", XP_END_DURATION, 1, .max_unmatched = 0.4, .code = XP_E_HIGH_UNMATCHED_RATE },
	{ "unmatched at its limit", XP_END_DURATION, 1, .max_unmatched = 0.5, .status = XP_COMPLETED },
};

struct setting {
	struct xp_window window;
	struct xp_account account;
	struct xp_pairs pairs;
	struct xp_endpoint start, end;
	struct xp_outcome_request request;
};

static void set(struct setting *s, const struct row *row)
{
	memset(s, 0, sizeof(*s));
	s->window = (struct xp_window){ .end = row->end, .opened = true, .cost.limit = 0.05 };
	s->account = (struct xp_account){ .source = "ebpf_uprobe", .emitted = 10, .dropped = row->dropped };
	s->pairs = (struct xp_pairs){ .n = row->pairs, .start_events = 3, .end_events = 2, .unmatched_start = row->max_unmatched > 0 };
	s->start.selector = "syscall:read:entry";
	s->end.selector = "syscall:read:exit";
	s->request = (struct xp_outcome_request){
		.window = &s->window,
		.sources = &s->account,
		.n_sources = 1,
		.pairs = &s->pairs,
		.start = &s->start,
		.end = &s->end,
		.policy = XP_POLICY_EXACT,
		.samples = { row->samples > 0, row->samples },
		.capacity_reached = row->capacity,
		.events = 7,
		.max_events = 200,
		.host_events = 5,
		.cuda_events = 2,
		.max_unmatched = row->max_unmatched > 0 ? row->max_unmatched : -1,
	};
}

static const char *text_of(const struct xp_err *err, const char *key)
{
	return json_string_value(json_object_get(err->details, key));
}

static json_int_t count_of(const struct xp_err *err, const char *key)
{
	return json_integer_value(json_object_get(err->details, key));
}

static void every_row(void **state)
{
	for (size_t i = 0; i < XP_LEN(rows); i++) {
		struct setting s;
		enum xp_status status = XP_FAILED;
		xp_auto_err err = { 0 };

		set(&s, &rows[i]);
		int r = xp_outcome_of(&s.request, &status, &err);
		if (err.code != rows[i].code)
			print_error("%s: %s\n", rows[i].what, xp_err_name(err.code));
		assert_int_equal(err.code, rows[i].code);
		assert_int_equal(r, -(int)rows[i].code);
		if (!r) {
			assert_int_equal(status, rows[i].status);
			continue;
		}
		assert_string_equal(text_of(&err, "start_selector"), "syscall:read:entry");
		assert_string_equal(text_of(&err, "match_policy"), "exact");
		if (rows[i].hidden)
			assert_string_equal(text_of(&err, "original_error_code"), rows[i].hidden);
		else
			assert_null(text_of(&err, "original_error_code"));
	}
}

static void fail_with(const struct row *row, void (*change)(struct setting *), struct xp_err *err)
{
	struct setting s;
	enum xp_status status;

	set(&s, row);
	if (change)
		change(&s);
	assert_int_not_equal(xp_outcome_of(&s.request, &status, err), 0);
}

static void details_of_drops_and_rates(void **state)
{
	xp_auto_err drops = { 0 }, rate = { 0 };

	fail_with(&(struct row){ .end = XP_END_DURATION, .pairs = 5, .dropped = 3 }, NULL, &drops);
	assert_int_equal(count_of(&drops, "dropped_events"), 3);
	fail_with(&(struct row){ .end = XP_END_CAPACITY, .pairs = 5 }, NULL, &rate);
	assert_int_equal(count_of(&rate, "max_events"), 200);
	assert_int_equal(count_of(&rate, "observed_events"), 7);
}

static void no_start(struct setting *s)
{
	s->pairs.start_events = 0;
}

static void no_end(struct setting *s)
{
	s->pairs.end_events = 0;
}

static void nothing(struct setting *s)
{
	s->pairs.start_events = s->pairs.end_events = 0;
}

static void api_calls(struct setting *s)
{
	static const char *const names[] = { "cudaMemcpyAsync", "cudaLaunchKernel" };

	no_start(s);
	s->request.api_calls = names;
	s->request.n_api_calls = XP_LEN(names);
}

static void edge(struct setting *s)
{
	s->request.edge = "kernel";
}

static bool hinted(const struct xp_err *err, const char *part)
{
	for (size_t i = 0; i < json_array_size(err->hints); i++)
		if (strstr(json_string_value(json_array_get(err->hints, i)), part))
			return true;
	return false;
}

/* The hint used to be the same whichever side was silent. */
static void the_silent_side_is_named(void **state)
{
	const struct row row = { .end = XP_END_TIMEOUT };
	xp_auto_err a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 }, e = { 0 };

	fail_with(&row, NULL, &a);
	assert_true(hinted(&a, "none share a key"));
	assert_int_equal(count_of(&a, "captured_events"), 7);
	assert_int_equal(count_of(&a, "host_events"), 5);
	assert_int_equal(count_of(&a, "cuda_events"), 2);
	assert_true(json_is_true(json_object_get(a.details, "timed_out")));
	fail_with(&row, no_start, &b);
	assert_true(hinted(&b, "no start: syscall:read:entry was silent"));
	fail_with(&row, no_end, &c);
	assert_true(hinted(&c, "no end: syscall:read:exit was silent"));
	fail_with(&row, nothing, &d);
	assert_true(hinted(&d, "neither selector"));
	fail_with(&row, api_calls, &e);
	assert_true(hinted(&e, "called in the window: cudaLaunchKernel"));
}

static void reused(struct setting *s)
{
	s->request.identity = XP_E_TARGET_REUSED;
}

static void dead(struct setting *s)
{
	s->request.dead_collection = true;
}

static void special_reasons(void **state)
{
	xp_auto_err a = { 0 }, b = { 0 }, c = { 0 };

	fail_with(&(struct row){ .end = XP_END_TARGET_GONE, .pairs = 5 }, reused, &a);
	assert_int_equal(a.code, XP_E_TARGET_REUSED);
	fail_with(&(struct row){ .end = XP_END_DURATION }, dead, &b);
	assert_int_equal(b.code, XP_E_COLLECTION_DEAD);
	fail_with(&(struct row){ .end = XP_END_DURATION }, edge, &c);
	assert_string_equal(text_of(&c, "edge"), "kernel");
}

/* A completed input has no window; fewer pairs than asked for are completed. */
static void offline(void **state)
{
	struct setting s;
	enum xp_status status = XP_FAILED;
	xp_auto_err err = { 0 };

	set(&s, &(struct row){ .pairs = 3, .samples = 100 });
	s.request.window = NULL;
	s.request.n_sources = 0;
	assert_int_equal(xp_outcome_of(&s.request, &status, &err), 0);
	assert_int_equal(status, XP_COMPLETED);
	s.pairs.n = 0;
	assert_int_equal(xp_outcome_of(&s.request, &status, &err), -XP_E_NO_MATCHED_SAMPLES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row),
		cmocka_unit_test(details_of_drops_and_rates),
		cmocka_unit_test(the_silent_side_is_named),
		cmocka_unit_test(special_reasons),
		cmocka_unit_test(offline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
