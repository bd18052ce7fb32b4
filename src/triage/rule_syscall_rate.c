// SPDX-License-Identifier: Apache-2.0
/* Very many short calls of one syscall. */
#include <string.h>

#include "triage/command.h"
#include "triage/cpu_view.h"
#include "triage/own_code.h"
#include "triage/rule.h"

#define CALLS_PER_SECOND 20000
#define MEAN_BELOW_NS 10000

/* The thread with the most time in the call; NULL when no thread is known. */
static const struct xp_call_use *busiest(const struct xp_syscall_view *view, const char *name)
{
	for (size_t i = 0; i < view->n_uses; i++) /* by total time falling */
		if (view->uses[i].name && !strcmp(view->uses[i].name, name))
			return &view->uses[i];
	return NULL;
}

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	for (size_t i = 0; i < input->syscalls->n_sums; i++) {
		const struct xp_call_sum *sum = &input->syscalls->sums[i];
		double per_second = xp_input_per_second(input, sum->calls);

		if (!sum->name || sum->compat || per_second < CALLS_PER_SECOND || sum->total_ns >= sum->calls * MEAN_BELOW_NS)
			continue;
		const struct xp_call_use *use = busiest(input->syscalls, sum->name);
		/* The way into the kernel and out of it may cost more than such a call itself; samples see it. */
		double timed = xp_input_share(input, use ? use->total_ns : sum->total_ns);
		double sampled = xp_cpu_share(input, use ? xp_cpu_in_call(input, use->tid, sum->name) : 0);
		json_t *evidence = json_object();
		json_object_set_new(evidence, "count", xp_json_count(sum->calls));
		json_object_set_new(evidence, "per_second", json_real(per_second));
		json_object_set_new(evidence, "mean_ns", json_real((double)sum->total_ns / (double)sum->calls));
		json_object_set_new(evidence, "total_ns", xp_json_count(sum->total_ns));
		json_object_set_new(evidence, "tid", use ? xp_json_count(use->tid) : json_null());
		json_object_set_new(evidence, "thread_name", use ? xp_json_text(use->thread_name) : json_null());
		struct xp_finding *finding = xp_finding_add(out, "syscall_rate", sum->name, timed > sampled ? timed : sampled, evidence);

		finding->tid = use ? use->tid : 0;
		finding->confidence = timed < sampled ? XP_ESTIMATED : XP_MEASURED;
		if (!strcmp(sum->name, "rt_sigreturn"))
			xp_finding_say(out, finding, "%.0f signals a second came to handlers, each of which ended in rt_sigreturn",
				       per_second);
		else
			xp_finding_say(out, finding, "%.0f calls of %s a second, %.1f us each", per_second, sum->name,
				       (double)sum->total_ns / (double)sum->calls / 1e3);
		xp_own_say(out, finding, ", most of them from ", use ? xp_own_in_call(input, use->tid, sum->name) : NULL);
		xp_next_call(input, out, finding, sum->name, per_second);
	}
}

static const struct xp_take takes[] = { { "cpu_bound_thread", XP_TAKE_SAME_THREAD }, { "cpu_kernel", XP_TAKE_SAME_CALL }, { NULL } };

const struct xp_rule xp_rule_syscall_rate = {
	.code = "syscall_rate",
	.order = 80,
	.needs = 1u << XP_SOURCE_SYSCALLS,
	.takes = takes,
	.run = run,
};
