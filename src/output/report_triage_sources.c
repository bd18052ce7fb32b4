/* SPDX-License-Identifier: Apache-2.0 */
/* The window of a triage in numbers, source by source. In: the summary. Out: text of at most 100 columns. No state. */
#include "output/report_triage_sources.h"

#include <inttypes.h>
#include <string.h>

#include "inventory/cpu_samples.h"
#include "inventory/stack_text.h"
#include "output/human.h"
#include "result/triage_summary.h"

enum { LABEL = 11, NAME = 18, BAR = 40, SHORT_BAR = 20, MAX_SYSCALLS = 4, MAX_FUNCTIONS = 5, FUNCTION = 52, CALL = 18, CALL_BAR = 16 };

static void label(struct xp_text *out, const char *text)
{
	xp_text_fmt(out, "%-*s", LABEL, text);
}

/* One mark for each part of the bar that `ns` fills; what was begun before is given by the columns already used. */
static size_t fill(struct xp_text *out, uint64_t ns, uint64_t full, char mark, size_t used)
{
	size_t n = full ? (size_t)((double)ns / (double)full * BAR + 0.5) : 0;

	if (n > BAR - used)
		n = BAR - used;
	for (size_t i = 0; i < n; i++)
		xp_text_char(out, mark);
	return used + n;
}

static void thread_line(const struct xp_triage_top_thread *thread, uint64_t window_ns, struct xp_text *out)
{
	double full = window_ns ? (double)window_ns : 1;
	size_t used = xp_human_text(out, thread->name, NAME);

	xp_text_fmt(out, "%*s%8u |", (int)(NAME - used), "", thread->tid);
	used = fill(out, thread->on_cpu_ns, window_ns, '#', 0);
	used = fill(out, thread->runqueue_ns, window_ns, '=', used);
	xp_text_fmt(out, "%*s| %4.0f%% cpu %4.0f%% wait\n", (int)(BAR - used), "", (double)thread->on_cpu_ns / full * 100,
		    (double)thread->runqueue_ns / full * 100);
}

void xp_report_triage_threads(const struct xp_triage_summary *summary, uint64_t window_ns, struct xp_text *out)
{
	const struct xp_triage_threads *threads = summary ? summary->threads : NULL;
	char text[XP_HUMAN_SIZE];

	if (!threads)
		return;
	label(out, "threads");
	xp_text_fmt(out, "%u seen, %u active", threads->count, threads->active);
	if (threads->started || threads->ended)
		xp_text_fmt(out, ", %u started, %u ended", threads->started, threads->ended);
	if (threads->vanished_cpu_ns)
		xp_text_fmt(out, ", %s of CPU time by short-lived ones", xp_human_ns(text, (double)threads->vanished_cpu_ns));
	xp_text_fmt(out, "\n%*s # on a CPU, = waiting for one, blank blocked\n", NAME + 8, "");
	for (size_t i = 0; i < threads->n_top; i++)
		thread_line(&threads->top[i], window_ns, out);
	if (threads->count > threads->n_top && threads->n_top)
		xp_text_fmt(out, "and %zu more\n", threads->count - threads->n_top);
}

void xp_report_triage_cgroup(const struct xp_triage_summary *summary, struct xp_text *out)
{
	const struct xp_triage_cgroup *group = summary ? summary->cgroup : NULL;
	char text[XP_HUMAN_SIZE];

	if (!group)
		return;
	label(out, "cgroup");
	xp_human_tail(out, group->path, XP_REPORT_COLUMNS - LABEL - 60);
	if (group->cpus.set)
		xp_text_fmt(out, ": limit %.2f CPUs", group->cpus.v);
	else
		xp_text_str(out, ": no CPU limit");
	if (group->throttled_ns.set && group->throttled_periods.set && group->throttled_periods.v)
		xp_text_fmt(out, ", stopped for %s in %" PRIu64 " periods", xp_human_ns(text, (double)group->throttled_ns.v),
			    group->throttled_periods.v);
	xp_text_char(out, '\n');
}

static void function_line(const struct xp_triage_top_function *function, struct xp_text *out)
{
	xp_auto_builder name = { 0 };

	xp_text_str(&name, function->symbol ? function->symbol : "without a name");
	if (function->source_path) {
		xp_text_fmt(&name, " (%s", xp_path_base(function->source_path));
		if (function->line.set)
			xp_text_fmt(&name, ":%u", function->line.v);
		xp_text_char(&name, ')');
	} else if (function->module || function->kind == XP_FRAME_KERNEL) {
		const char *module = function->module ? xp_path_base(function->module) : "kernel";

		xp_text_fmt(&name, module[0] == '[' ? " %s" : " [%s]", module);
	}
	xp_text_fmt(out, "%*s", LABEL, "");
	size_t used = xp_human_text(out, name.data, FUNCTION);
	xp_text_fmt(out, "%*s %3.0f%% ", (int)(FUNCTION - used), "", function->exclusive_proportion * 100);
	xp_human_bar(out, (uint64_t)(function->exclusive_proportion * 1000), 1000, SHORT_BAR);
	xp_text_char(out, '\n');
}

void xp_report_triage_functions(const struct xp_triage_summary *summary, struct xp_text *out)
{
	const struct xp_triage_cpu_samples *samples = summary ? summary->cpu_samples : NULL;

	if (!samples)
		return;
	label(out, "cpu");
	xp_text_fmt(out, "%" PRIu64 " samples", samples->observed);
	if (samples->coverage.set)
		xp_text_fmt(out, ", %.0f%% of what was to be expected", samples->coverage.v * 100);
	xp_text_str(out, samples->n_top ? "; functions by their own share\n" : "\n");
	for (size_t i = 0; i < samples->n_top && i < MAX_FUNCTIONS; i++)
		function_line(&samples->top[i], out);
}

void xp_report_triage_syscalls(const struct xp_triage_summary *summary, struct xp_text *out)
{
	const struct xp_triage_syscalls *calls = summary ? summary->syscalls : NULL;
	char total[XP_HUMAN_SIZE], most[XP_HUMAN_SIZE];

	if (!calls)
		return;
	label(out, "syscalls");
	xp_text_fmt(out, "%" PRIu64 " calls, %" PRIu64 " failed, %" PRIu64 " open at the end\n", calls->calls, calls->errors,
		    calls->open_at_end);
	for (size_t i = 0; i < calls->n_top && i < MAX_SYSCALLS; i++) {
		const struct xp_triage_top_syscall *call = &calls->top[i];

		xp_text_fmt(out, "%*s%-*s %9" PRIu64 " calls, total %9s, longest %9s ", LABEL, "", CALL,
			    call->syscall_name ? call->syscall_name : "(unnamed)", call->count, xp_human_ns(total, (double)call->total_ns),
			    xp_human_ns(most, (double)call->max_ns));
		xp_human_bar(out, call->total_ns, calls->top[0].total_ns, CALL_BAR);
		xp_text_char(out, '\n');
	}
}
