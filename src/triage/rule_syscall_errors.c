// SPDX-License-Identifier: Apache-2.0
/* A syscall that mostly fails. EAGAIN is how non-blocking calls say "nothing yet" and does not count. */
#include "triage/command.h"
#include "triage/cpu_view.h"
#include "triage/rule.h"

enum { LEAST_CALLS = 100 };

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	for (size_t i = 0; i < input->syscalls->n_sums; i++) {
		const struct xp_call_sum *sum = &input->syscalls->sums[i];
		uint64_t errors = sum->errors > sum->again ? sum->errors - sum->again : 0;

		if (!sum->name || sum->compat || sum->calls < LEAST_CALLS || errors * 2 < sum->calls)
			continue;
		double timed = xp_input_share(input, sum->total_ns), sampled = xp_cpu_share(input, xp_cpu_in_call(input, 0, sum->name));
		double share = (timed > sampled ? timed : sampled) * (double)errors / (double)sum->calls;
		json_t *evidence = json_object();
		json_object_set_new(evidence, "count", xp_json_count(sum->calls));
		json_object_set_new(evidence, "errors", xp_json_count(errors));
		json_object_set_new(evidence, "eagain", xp_json_count(sum->again));
		json_object_set_new(evidence, "total_ns", xp_json_count(sum->total_ns));
		json_object_set_new(evidence, "most_frequent_errno", sum->top_errno ? json_string(sum->top_errno) : json_null());
		struct xp_finding *finding = xp_finding_add(out, "syscall_errors", sum->name, share, evidence);

		finding->confidence = timed < sampled ? XP_ESTIMATED : XP_MEASURED;
		xp_finding_say(out, finding, "%llu of %llu calls of %s failed%s%s", (unsigned long long)errors,
			       (unsigned long long)sum->calls, sum->name, sum->top_errno ? ", mostly with " : "",
			       sum->top_errno ? sum->top_errno : "");
		xp_next_call(input, out, finding, sum->name, xp_input_per_second(input, sum->calls));
	}
}

static const struct xp_take takes[] = { { "cpu_kernel", XP_TAKE_SAME_CALL }, { NULL } };

const struct xp_rule xp_rule_syscall_errors = {
	.code = "syscall_errors",
	.order = 90,
	.needs = 1u << XP_SOURCE_SYSCALLS,
	.takes = takes,
	.run = run,
};
