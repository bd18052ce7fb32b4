// SPDX-License-Identifier: Apache-2.0
/* TriageResult out of inventory values: eight sources in order, gaps, quality, the size budget, the report for people. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "output/report_triage.h"
#include "plan/spec.h"
#include "result/triage.h"

#define MS 1000000ull

struct scene {
	struct xp_arena *arena;
	struct xp_thread_row rows[64];
	struct xp_thread_group groups[16];
	struct xp_thread_time time;
	struct xp_call_sum sums[8];
	struct xp_call_use uses[8];
	struct xp_syscall_view view;
	struct xp_warnings warnings;
	struct xp_triage_parts parts;
};

/* A busy process: names as long as the kernel allows, in letters of several bytes. */
static int set_up(void **state)
{
	static const char *const calls[] = { "fsync", "read", "write", "openat", "futex", "close", "mmap", "munmap" };
	struct scene *s = calloc(1, sizeof(*s));

	s->arena = xp_arena_new();
	s->warnings.arena = s->arena;
	for (int i = 0; i < 64; i++)
		s->rows[i] = (struct xp_thread_row){ .tid = 4194304 + i,
						     .name = "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4x",
						     .name_pattern = "p",
						     .state = "R",
						     .on_cpu_ns = 950 * MS,
						     .runqueue_ns = 1050 * MS,
						     .active = true };
	for (int i = 0; i < 16; i++)
		s->groups[i] = (struct xp_thread_group){ .name_pattern = "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4#", .threads = 4000 };
	for (int i = 0; i < 8; i++) {
		s->sums[i] = (struct xp_call_sum){ .name = calls[i], .calls = 1000003, .errors = 1000003, .total_ns = 9000 * MS };
		s->uses[i] = (struct xp_call_use){
			.tid = 4194304, .thread_name = "x", .name = calls[i], .calls = 1000003, .total_ns = 900 * MS
		};
	}
	s->time = (struct xp_thread_time){ .count = 64,
					   .active = 64,
					   .threads = s->rows,
					   .n_threads = 64,
					   .groups = s->groups,
					   .n_groups = 16,
					   .vanished_cpu_ns = 900 * MS,
					   .major_faults = 1000003,
					   .cpus_allowed = "0-1" };
	s->view = (struct xp_syscall_view){ .calls = 8000024, .sums = s->sums, .n_sums = 8, .uses = s->uses, .n_uses = 8 };
	s->parts = (struct xp_triage_parts){
		.session_id = "xp_triage_88_9c3e0d55",
		.status = XP_COMPLETED,
		.requested_ms = 2000,
		.warnings = &s->warnings,
		.window = { .opened = true, .start_ns = 71200331122, .end_ns = 73200331122, .end = XP_END_DURATION },
		.input = { .target = { .pid = 4194304, .process_start_time = 8812345 },
			   .window_ns = 2000 * MS,
			   .threads = &s->time,
			   .syscalls = &s->view },
	};
	for (int id = 0; id < XP_SOURCE_COUNT; id++)
		s->parts.input.sources[id] = xp_source_unavailable(id, XP_REASON_ABSENT, "not in this build");
	s->parts.input.sources[XP_SOURCE_THREADS] = xp_source_available(XP_SOURCE_THREADS);
	s->parts.input.sources[XP_SOURCE_SYSCALLS] = xp_source_available(XP_SOURCE_SYSCALLS);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	xp_arena_free(s->arena);
	free(s);
	return 0;
}

static json_t *parsed(struct scene *s, const struct xp_triage *triage, size_t *ret_len)
{
	xp_auto_builder text = { 0 };
	struct xp_json json = { .out = &text };
	char why[160];

	xp_record_write(&json, &xp_triage_record, triage, false);
	json_t *document = xp_json_parse(text.data, text.len, why, sizeof(why));
	if (!document)
		fail_msg("%s", why);
	if (ret_len)
		*ret_len = text.len;
	(void)s;
	return document;
}

static void sources_and_gaps(void **state)
{
	static const char *const names[] = {
		"threads", "cgroup", "cpu_samples", "off_cpu", "syscalls", "gpu", "cuda_kernels", "cuda_copies"
	};
	struct scene *s = *state;
	json_t *document = parsed(s, xp_triage_assemble(&s->parts, s->arena), NULL), *sources = json_object_get(document, "sources");
	unsigned gaps = 0;

	assert_int_equal(json_array_size(sources), 8);
	for (size_t i = 0; i < 8; i++)
		assert_string_equal(json_string_value(json_object_get(json_array_get(sources, i), "name")), names[i]);
	assert_true(json_is_null(json_object_get(json_array_get(sources, 0), "reason")));
	assert_string_equal(json_string_value(json_object_get(json_array_get(sources, 1), "reason")), "absent");
	json_t *summary = json_object_get(document, "summary");

	assert_true(json_is_object(json_object_get(summary, "threads")));
	assert_true(json_is_null(json_object_get(summary, "cgroup")));
	assert_true(json_is_null(json_object_get(summary, "gpu")));
	json_t *entry;
	size_t i;
	json_array_foreach(json_object_get(document, "not_covered"), i, entry) gaps +=
		!strncmp(json_string_value(json_object_get(entry, "code")), "source_", 7);
	assert_int_equal(gaps, 6);
	json_t *issue = json_array_get(json_object_get(json_object_get(document, "quality"), "issues"), 0);

	assert_string_equal(json_string_value(json_object_get(issue, "code")), "sources_missing");
	assert_string_equal(json_string_value(json_object_get(json_object_get(document, "quality"), "verdict")), "good");
	assert_true(json_is_null(json_object_get(document, "processes")));
	json_decref(document);
}

static void twelve_findings_at_most(void **state)
{
	struct scene *s = *state;
	struct xp_triage *triage = xp_triage_assemble(&s->parts, s->arena);

	/* runqueue 1, bound 0 (950 of 2000), blocked 3, rate 8, errors 8, churn 1, faults 1 */
	assert_true(triage->findings_total > XP_MAX_FINDINGS);
	assert_int_equal(triage->n_findings, XP_MAX_FINDINGS);
	for (size_t i = 1; i < triage->n_findings; i++)
		if (triage->findings[i]->window_share.set)
			assert_true(triage->findings[i - 1]->window_share.v >= triage->findings[i]->window_share.v);
}

static void fits_the_budget(void **state)
{
	struct scene *s = *state;
	struct xp_triage *triage = xp_triage_assemble(&s->parts, s->arena);
	size_t len, steps = 0;

	json_decref(parsed(s, triage, &len));
	assert_true(len + 1 <= XP_TRIAGE_BUDGET);
	while (xp_triage_shrink(triage)) {
		uint64_t threads = 0;

		assert_true(++steps < 100);
		for (size_t i = 0; i < triage->summary->threads->n_groups; i++)
			threads += triage->summary->threads->groups[i].threads;
		assert_int_equal(threads, 16 * 4000); /* rows that were cut are in the last one */
	}
	assert_string_equal(triage->summary->threads->groups[0].name_pattern, "*");
	assert_int_equal(triage->n_findings, 1);
	json_decref(parsed(s, triage, &len));
	assert_true(len < 6000);
}

static void proposed_specs_are_specs(void **state)
{
	struct scene *s = *state;
	json_t *document = parsed(s, xp_triage_assemble(&s->parts, s->arena), NULL), *finding;
	unsigned specs = 0;
	size_t i;

	json_array_foreach(json_object_get(document, "findings"), i, finding)
	{
		json_t *next = json_object_get(finding, "next");
		struct xp_measurement_spec spec;
		xp_auto_err error = { 0 };

		if (strcmp(json_string_value(json_object_get(next, "kind")), "measurement_spec")) {
			assert_string_equal(json_string_value(json_object_get(next, "kind")), "environment_action");
			continue;
		}
		specs++;
		if (xp_measurement_spec_read(json_object_get(next, "spec"), s->arena, &spec, &error))
			fail_msg("%s", error.message);
		assert_int_equal(spec.target.pid, 4194304);
	}
	assert_true(specs >= 3);
	json_decref(document);
}

static void changes_of_the_target_are_told(void **state)
{
	struct scene *s = *state;

	s->parts.status = XP_TIMED_OUT;
	s->parts.window.exec_seen = true;
	s->parts.input.forked = 3;
	s->parts.window.cost.cpu_share = (struct xp_opt_f64)XP_SOME(0.03);
	struct xp_triage *triage = xp_triage_assemble(&s->parts, s->arena);
	static const char *const codes[] = { "timed_out", "high_cost", "target_exec", "target_forked", "sources_missing" };

	assert_int_equal(triage->quality.n_issues, XP_LEN(codes));
	for (size_t i = 0; i < XP_LEN(codes); i++)
		assert_string_equal(triage->quality.issues[i].code, codes[i]);
	assert_int_equal(triage->quality.verdict, XP_CAUTIOUS);
	assert_true(xp_warnings_have(&s->warnings, "TARGET_EXEC"));
	assert_true(xp_warnings_have(&s->warnings, "TARGET_FORKED"));
}

static void report_names_the_next_command(void **state)
{
	struct scene *s = *state;
	xp_auto_builder text = { 0 };
	struct xp_triage *triage = xp_triage_assemble(&s->parts, s->arena);

	for (size_t i = 0; i < triage->n_findings; i++) {
		struct xp_next_spec *next = triage->findings[i]->next;

		if (next->kind == XP_NEXT_SPEC)
			next->path = "/tmp/it's here/next.json";
	}
	xp_report_triage(triage, &text, false);
	assert_non_null(strstr(text.data, "xprobe measure --spec '/tmp/it'\\''s here/next.json'\n"));
	assert_non_null(strstr(text.data, "runqueue_wait"));
	assert_null(strchr(text.data, '\x1b'));
}

#define SCENE_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(sources_and_gaps),	      SCENE_TEST(twelve_findings_at_most),	  SCENE_TEST(fits_the_budget),
		SCENE_TEST(proposed_specs_are_specs), SCENE_TEST(changes_of_the_target_are_told), SCENE_TEST(report_names_the_next_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
