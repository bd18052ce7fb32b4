/* SPDX-License-Identifier: Apache-2.0 */
/* Quality issues of exact measurements: each condition at its edge, in table order (contract 13). */
#include "measured.h"

static void issues_are(struct setting *s, const char *wanted, int verdict)
{
	struct xp_measurement *value = make(s);
	char codes[1024] = "";

	for (size_t i = 0; i < value->quality.n_issues; i++) {
		strcat(codes, i ? " " : "");
		strcat(codes, value->quality.issues[i].code);
		strcat(codes, value->quality.issues[i].severity == XP_CAUTION ? "!" : "");
	}
	assert_string_equal(codes, wanted);
	assert_int_equal(value->quality.verdict, verdict);
}

static void samples_decide_how_much_is_said(void **state)
{
	static const struct {
		unsigned n;
		const char *issues;
		int verdict;
	} rows[] = {
		{ 100, "", XP_GOOD },
		{ 99, "few_samples", XP_GOOD },
		{ 30, "few_samples", XP_GOOD },
		{ 29, "few_samples!", XP_CAUTIOUS },
	};

	for (size_t i = 0; i < XP_LEN(rows); i++) {
		struct setting s;

		set(&s, mmaps(rows[i].n));
		issues_are(&s, rows[i].issues, rows[i].verdict);
		done(&s);
	}
}

static void unmatched_share_decides_the_severity(void **state)
{
	struct setting s;

	set(&s, mmaps(950));
	s.capture->pairs.unmatched_start = 50;
	issues_are(&s, "unmatched_events", XP_GOOD); /* 0.05 is not above 0.05 */
	s.capture->pairs.unmatched_end = 1;
	issues_are(&s, "unmatched_events!", XP_CAUTIOUS);
	s.capture->pairs.ambiguous = 20; /* counts below the line, and by itself */
	issues_are(&s, "ambiguous_correlation! unmatched_events", XP_CAUTIOUS);
	done(&s);
}

/* Everything at once comes in the order of the table. */
static void every_issue_in_table_order(void **state)
{
	struct setting s;
	struct xp_resolved resolved = { .return_method = XP_RETURN_URETPROBE };

	set(&s, mmaps(5));
	s.capture->start.type = XP_EV_HOST_FUNCTION_ENTRY;
	s.capture->end.type = XP_EV_HOST_FUNCTION_EXIT;
	s.capture->end.resolved = &resolved;
	s.request.edge.policy = XP_POLICY_NEAREST;
	s.capture->pairs.ambiguous = s.capture->pairs.unmatched_end = 1;
	s.capture->pairs.within_clock_error = 2;
	s.capture->pairs.nested_too_deep = true;
	s.facts.status = XP_CANCELLED;
	s.window.end = XP_END_SIGNAL;
	s.window.exec_seen = true;
	s.window.children = 3;
	s.cost.probe_floor_ns.v = 1000;
	s.cost.limit_reached = true;
	s.cost.stall_ms = (struct xp_opt_f64)XP_SOME(100.5);
	s.cuda.invalid_time_records = 4;
	s.facts.cuda = &s.cuda;
	s.facts.clock_stepped = s.facts.source_loss_unknown = s.facts.records_only = s.facts.kinds_left_on = true;
	s.facts.correlation_unreliable = s.facts.nvtx_partial = true;
	s.facts.cupti_caveat = "times of copies are late";
	issues_are(
		&s,
		"cancelled! heuristic_correlation! ambiguous_correlation! unmatched_events! clock_error_large! clock_stepped! few_samples! "
		"source_loss_unknown near_probe_floor! cost_limit_reached! long_stall! records_only! kinds_left_on! "
		"correlation_unreliable! "
		"invalid_gpu_times! cupti_caveat! target_exec! target_forked nvtx_partial! nested_returns_missed!",
		XP_CAUTIOUS);
	done(&s);
}

static void costs_and_floors(void **state)
{
	struct setting s;

	set(&s, mmaps(100)); /* p50 is 6,900 */
	s.cost.cpu_share.v = 0.021;
	s.cost.probe_floor_ns.v = 2301;
	issues_are(&s, "high_cost!", XP_CAUTIOUS); /* the floor concerns functions alone */
	s.capture->start.type = XP_EV_HOST_FUNCTION_ENTRY;
	s.capture->end.type = XP_EV_HOST_FUNCTION_EXIT;
	issues_are(&s, "near_probe_floor! high_cost!", XP_CAUTIOUS);
	s.cost.probe_floor_ns.v = 2300;
	s.cost.cpu_share.v = 0.02;
	issues_are(&s, "", XP_GOOD);
	done(&s);
}

static void timed_out(void **state)
{
	struct setting s;

	set(&s, mmaps(100));
	s.facts.status = XP_TIMED_OUT;
	s.window.end = XP_END_TIMEOUT;
	issues_are(&s, "timed_out!", XP_CAUTIOUS);
	done(&s);
}

/* 200 events of kernels, or of launches and kernels, 100 ns apart, with an error bound. */
static struct capture *gpu(enum xp_event_type start, uint64_t error_ns)
{
	struct capture *c =
		capture_new(XP_POLICY_EXACT, start, start == XP_EV_CUDA_API_ENTRY ? XP_EV_GPU_KERNEL_START : XP_EV_GPU_KERNEL_END);

	c->start.cuda.api_name = "cudaLaunchKernel";
	for (unsigned i = 0; i < 200; i++) {
		struct xp_event e = event_of(c, 1000 + 100 * i, 1 + i % 2);
		bool api = e.type == XP_EV_CUDA_API_ENTRY;

		e.clock = api ? XP_CLOCK_HOST : XP_CLOCK_CUPTI_NORMALIZED;
		e.error_ns = api ? 0 : error_ns;
		e.gpu.context = 1;
		e.gpu.correlation = i / 2;
		put(c, e);
	}
	correlate(c);
	return c;
}

static void clock_errors_weigh_more_between_two_clocks(void **state)
{
	static const struct {
		enum xp_event_type start;
		uint64_t error_ns;
		const char *issues;
	} rows[] = {
		{ XP_EV_GPU_KERNEL_START, 10, "" }, /* a tenth of p50 is not above a tenth */
		{ XP_EV_GPU_KERNEL_START, 11, "clock_error_large" },
		{ XP_EV_CUDA_API_ENTRY, 11, "clock_error_large!" },
		{ XP_EV_GPU_KERNEL_START, XP_ERROR_UNKNOWN, "clock_error_unknown" },
		{ XP_EV_CUDA_API_ENTRY, XP_ERROR_UNKNOWN, "clock_error_unknown!" },
	};

	for (size_t i = 0; i < XP_LEN(rows); i++) {
		struct setting s;

		set(&s, gpu(rows[i].start, rows[i].error_ns));
		issues_are(&s, rows[i].issues, strchr(rows[i].issues, '!') ? XP_CAUTIOUS : XP_GOOD);
		done(&s);
	}
}

static void graph_issues_need_a_cuda_endpoint(void **state)
{
	struct setting s;

	set(&s, gpu(XP_EV_GPU_KERNEL_START, 0));
	s.cuda.launch_unknown = s.cuda.predates_attach = 2;
	s.facts.cuda = &s.cuda;
	issues_are(&s, "launch_link_unknown graph_predates_attach", XP_GOOD);
	s.capture->pairs.launch_unknown = true;
	issues_are(&s, "launch_link_unknown! graph_predates_attach", XP_CAUTIOUS);
	done(&s);
	set(&s, mmaps(100));
	s.cuda.launch_unknown = s.cuda.predates_attach = 2;
	s.facts.cuda = &s.cuda;
	issues_are(&s, "", XP_GOOD);
	done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_decide_how_much_is_said),
		cmocka_unit_test(unmatched_share_decides_the_severity),
		cmocka_unit_test(every_issue_in_table_order),
		cmocka_unit_test(costs_and_floors),
		cmocka_unit_test(timed_out),
		cmocka_unit_test(clock_errors_weigh_more_between_two_clocks),
		cmocka_unit_test(graph_issues_need_a_cuda_endpoint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
