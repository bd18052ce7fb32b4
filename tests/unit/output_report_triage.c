/* SPDX-License-Identifier: Apache-2.0 */
/* The triage for people: at most 100 columns, no sequence for a terminal unless asked for, the answer first, the command last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "output/human.h"
#include "output/report_triage.h"
#include "result/triage.h"

#define MS 1000000ull
#define LONG "a_name_that_goes_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on"
static const char command[] = "sudo ./build/xprobe measure --spec /tmp/xprobe-abcdef/next-1.json";

struct scene {
	struct xp_measurement_spec spec;
	struct xp_next_spec measure;
	struct xp_next_action action;
	struct xp_finding findings[2];
	const struct xp_finding *list[2];
	struct xp_triage_top_thread threads[8];
	struct xp_triage_threads time;
	struct xp_triage_cgroup cgroup;
	struct xp_triage_top_function functions[3];
	struct xp_triage_cpu_samples cpu;
	struct xp_triage_top_syscall calls[2];
	struct xp_triage_syscalls syscalls;
	struct xp_triage_summary summary;
	struct xp_not_covered gap;
	struct xp_artifact artifact;
	struct xp_triage triage;
};

static void set_findings(struct scene *s)
{
	s->spec = (struct xp_measurement_spec){ .start_selector = "uprobe:/opt/" LONG ":" LONG ":entry",
						.end_selector = "uprobe:/opt/" LONG ":" LONG ":return" };
	s->measure = (struct xp_next_spec){ .kind = XP_NEXT_SPEC, .spec = &s->spec, .path = "/tmp/xprobe-abcdef/next-1.json" };
	s->action =
		(struct xp_next_action){ .kind = XP_NEXT_ACTION, .code = "raise_cpu_quota", .message = LONG " " LONG, .object = "/job" };
	s->findings[0] = (struct xp_finding){ .rank = 1,
					      .code = "cpu_hotspot",
					      .subject = LONG,
					      .window_share = XP_SOME(0.947),
					      .confidence = XP_ESTIMATED,
					      .message = "thread " LONG " spent it",
					      .next = &s->measure };
	s->findings[0].evidence =
		json_pack("{s:I,s:f,s:[s,s],s:{s:s,s:i,s:f}}", "total_ns", (json_int_t)1890000000, "process_exclusive_proportion", 0.34,
			  "stack", LONG, LONG, "python_line", "source_path", "/srv/" LONG ".py", "line", 15, "share", 1.0);
	s->findings[1] = (struct xp_finding){ .rank = 2,
					      .code = "cgroup_throttled",
					      .subject = "a\x1b[31m\nb",
					      .window_share = XP_SOME(0.004),
					      .message = "\xff\x9b and \xc2\x9b",
					      .next = &s->action };
	s->findings[1].evidence = json_pack("{s:s}", "thread_name", "x\x1b]0;title\x07");
	s->list[0] = &s->findings[0];
	s->list[1] = &s->findings[1];
}

static void set_summary(struct scene *s)
{
	for (int i = 0; i < 8; i++)
		s->threads[i] = (struct xp_triage_top_thread){ .tid = 4194304 + i,
							       .name = i % 2 ? "a\x1b[2Jb" : "worker-1234567",
							       .on_cpu_ns = 900 * MS,
							       .runqueue_ns = 200 * MS,
							       .state = "R" };
	s->time = (struct xp_triage_threads){
		.count = 4211, .active = 13, .started = 5, .ended = 3, .vanished_cpu_ns = 7 * MS, .top = s->threads, .n_top = 8
	};
	s->cgroup = (struct xp_triage_cgroup){ .version = 2,
					       .path = "/" LONG "/" LONG,
					       .cpus = XP_SOME(0.25),
					       .throttled_ns = XP_SOME(800 * MS),
					       .throttled_periods = XP_SOME(1000003) };
	s->functions[0] = (struct xp_triage_top_function){ .symbol = LONG LONG, .module = "/opt/" LONG, .exclusive_proportion = 0.9 };
	s->functions[1] = (struct xp_triage_top_function){ .symbol = "also_bought",
							   .source_path = "/srv/report.py",
							   .line = XP_SOME(15),
							   .kind = XP_FRAME_PYTHON,
							   .exclusive_proportion = 0.05 };
	s->functions[2] = (struct xp_triage_top_function){ .module = "[bpf]", .kind = XP_FRAME_KERNEL };
	s->cpu = (struct xp_triage_cpu_samples){ .observed = 1009, .coverage = XP_SOME(0.997), .top = s->functions, .n_top = 3 };
	s->calls[0] = (struct xp_triage_top_syscall){
		.syscall_name = "recvfrom", .count = 1000000007, .total_ns = 999000 * MS, .max_ns = 99900 * MS
	};
	s->calls[1] = (struct xp_triage_top_syscall){ .count = 7, .total_ns = MS, .max_ns = MS };
	s->syscalls = (struct xp_triage_syscalls){ .calls = 1000000014, .errors = 3, .open_at_end = 2, .top = s->calls, .n_top = 2 };
	s->summary =
		(struct xp_triage_summary){ .threads = &s->time, .cgroup = &s->cgroup, .cpu_samples = &s->cpu, .syscalls = &s->syscalls };
}

static int set_up(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	set_findings(s);
	set_summary(s);
	s->gap = (struct xp_not_covered){ "causality", "shares overlap; " LONG };
	s->artifact = (struct xp_artifact){ .path = "/tmp/" LONG "/report.html", .bytes = 70913 };
	s->triage = (struct xp_triage){ .session_id = "xp_test_1_00000000",
					.name = LONG,
					.status = XP_COMPLETED,
					.window = { .duration_ns = 2000 * MS },
					.summary = &s->summary,
					.findings = s->list,
					.n_findings = 2,
					.findings_total = 5,
					.not_covered = &s->gap,
					.n_not_covered = 1,
					.evidence = { .artifact = &s->artifact },
					.report = &s->artifact,
					.invocation = "sudo ./build/xprobe" };
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	json_decref(s->findings[0].evidence);
	json_decref(s->findings[1].evidence);
	free(s);
	return 0;
}

static size_t columns_of(const char *line, size_t len)
{
	const char *end = line + len;
	size_t columns = 0;

	for (size_t n; line < end; line += n, columns++) {
		n = xp_utf8_len(line, end);
		if (!n)
			fail_msg("not UTF-8");
	}
	return columns;
}

static void lines_fit(void **state)
{
	struct scene *s = *state;
	xp_auto_builder text = { 0 };

	xp_report_triage(&s->triage, &text, false);
	for (const char *line = text.data, *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		assert_non_null(end);
		bool paste = !strncmp(line + strspn(line, " "), "sudo ", 5);

		if (!paste && columns_of(line, (size_t)(end - line)) > XP_REPORT_COLUMNS)
			fail_msg("%zu columns: %.*s", columns_of(line, (size_t)(end - line)), (int)(end - line), line);
	}
	for (const char *p = text.data; *p; p++)
		assert_true(*p == '\n' || ((unsigned char)*p >= ' ' && *p != 0x7f));
	assert_null(strstr(text.data, "\xc2\x9b"));
}

static void processes_have_a_line_each(void **state)
{
	struct scene *s = *state;
	const struct xp_target_id first = { .pid = 4194303 }, second = { .pid = 101 };
	struct xp_triage_row rows[] = {
		{ .target = &first,
		  .executable = "/opt/" LONG,
		  .status = XP_FAILED,
		  .summary = &s->summary,
		  .findings = s->list,
		  .n_findings = 2 },
		{ .target = &second, .executable = "", .status = XP_COMPLETED },
	};
	const struct xp_odd odd = { .metric = 0, .pid = XP_SOME(101), .value = 0.97, .median = 0.11 };
	struct xp_triage several = s->triage;
	xp_auto_builder text = { 0 };

	s->time.on_cpu_ns = 5000 * MS;
	several.target = NULL;
	several.name = NULL;
	several.summary = NULL;
	several.processes = rows;
	several.n_processes = 2;
	several.processes_total = (struct xp_opt_u32)XP_SOME(7);
	several.odd_one_out = &odd;
	several.n_odd_one_out = 1;
	xp_report_triage(&several, &text, false);
	assert_memory_equal(text.data, "triage     2 processes, window 2.00 s", 37);
	assert_non_null(strstr(text.data, "\nprocesses  2 of 7 "));
	assert_non_null(strstr(text.data, " 4194303  |####################|  250%"));
	assert_non_null(strstr(text.data, "%  ended   95% cpu_hotspot "));
	assert_non_null(strstr(text.data, "without a name         101* |                    |              -\n"));
	assert_true(strstr(text.data, "processes  2") < strstr(text.data, " 1. "));
	assert_non_null(strstr(text.data, "process 101 differs: on_cpu_share 0.97, median 0.11\n"));
	assert_non_null(strstr(text.data, " of 0  ####"));
}

static void the_answer_is_first_and_the_command_last(void **state)
{
	struct scene *s = *state;
	xp_auto_builder text = { 0 };

	xp_report_triage(&s->triage, &text, false);
	const char *finding = strstr(text.data, " 1.  95% cpu_hotspot"), *numbers = strstr(text.data, "the window in numbers");
	assert_true(finding && numbers && finding < numbers);
	assert_non_null(strstr(finding, "  ###################  (estimated)\n"));
	assert_non_null(strstr(finding, "total 1.89 s, process exclusive proportion 34%\n"));
	assert_non_null(strstr(
		finding, " from entry to return exactly:\n      sudo ./build/xprobe measure --spec /tmp/xprobe-abcdef/next-1.json\n"));
	assert_non_null(strstr(finding, " 2.   0% cgroup_throttled"));
	assert_non_null(strstr(finding, "and 3 smaller ones"));
	assert_non_null(strstr(numbers, "also_bought (report.py:15)"));
	assert_non_null(strstr(numbers, "and 4203 more"));
	size_t n = strlen(command);
	assert_memory_equal(text.data + text.len - n - 1, command, n);
}

/* Every change of tone is undone, and without the sequences both texts are the same. */
static void colour_only_when_asked_for(void **state)
{
	struct scene *s = *state;
	xp_auto_builder plain = { 0 };
	xp_auto_builder colored = { 0 };
	xp_auto_builder bare = { 0 };
	bool on = false;

	xp_report_triage(&s->triage, &plain, false);
	xp_report_triage(&s->triage, &colored, true);
	assert_null(strchr(plain.data, '\x1b'));
	for (const char *p = colored.data; *p; p++) {
		if (*p != '\x1b') {
			xp_text_char(&bare, *p);
			continue;
		}
		on = strncmp(p, "\x1b[0m", 4) != 0;
		p = strchr(p, 'm');
	}
	assert_false(on);
	assert_string_equal(bare.data, plain.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lines_fit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(processes_have_a_line_each, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_answer_is_first_and_the_command_last, set_up, tear_down),
		cmocka_unit_test_setup_teardown(colour_only_when_asked_for, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
