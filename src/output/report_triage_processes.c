/* SPDX-License-Identifier: Apache-2.0 */
/* Several processes of one window, a line each. In: rows of the result. Out: text of at most 100 columns. No state. */
#include "output/report_triage_processes.h"

#include "inventory/stack_text.h"
#include "output/human.h"
#include "result/triage.h"

enum { LABEL = 11, NAME = 18, BAR = 20, FINDING = 30 };

/* A bar of one CPU: more than one is told by the number. */
static void row_line(const struct xp_triage_row *row, uint64_t window_ns, struct xp_text *out, bool color)
{
	const struct xp_triage_threads *threads = row->summary ? row->summary->threads : NULL;
	const struct xp_finding *best = row->n_findings ? row->findings[0] : NULL;
	const char *name = row->executable && row->executable[0] ? xp_path_base(row->executable) : "without a name";
	size_t used = xp_human_text(out, name, NAME);

	xp_text_fmt(out, "%*s%10u |", (int)(NAME - used), "", row->target->pid);
	size_t before = out->len;
	if (threads && window_ns)
		xp_human_bar(out, threads->on_cpu_ns, window_ns, BAR);
	xp_text_fmt(out, "%*s|", (int)(BAR - (out->len - before)), "");
	if (threads && window_ns)
		xp_text_fmt(out, " %5.0f%% cpu", (double)threads->on_cpu_ns / (double)window_ns * 100);
	else
		xp_text_str(out, "           ");
	if (row->status != XP_COMPLETED)
		xp_text_fmt(out, "  %s", xp_status_names[row->status]);
	if (best) {
		xp_text_str(out, "  ");
		xp_human_tone(out, XP_TONE_WARN, color);
		if (best->window_share.set)
			xp_text_fmt(out, "%3.0f%% ", best->window_share.v * 100);
		xp_human_text(out, best->code, FINDING);
		xp_human_tone(out, XP_TONE_PLAIN, color);
	}
	xp_text_char(out, '\n');
}

static void odd_line(const struct xp_odd *odd, struct xp_text *out)
{
	xp_text_fmt(out, "%*s", LABEL, "");
	if (odd->pid.set)
		xp_text_fmt(out, "process %u differs: ", odd->pid.v);
	else
		xp_text_str(out, "the two differ: ");
	xp_text_fmt(out, "%s %.4g, median %.4g\n", xp_metric_names[odd->metric], odd->value, odd->median);
}

void xp_report_triage_processes(const struct xp_triage *triage, struct xp_text *out, bool color)
{
	if (!triage->processes)
		return;
	xp_text_fmt(out, "%-*s%zu", LABEL, "processes", triage->n_processes);
	if (triage->processes_total.set && triage->processes_total.v > triage->n_processes)
		xp_text_fmt(out, " of %u", triage->processes_total.v);
	xp_text_str(out, "; # of one CPU, and the largest finding of each\n");
	for (size_t i = 0; i < triage->n_processes; i++)
		row_line(&triage->processes[i], triage->window.duration_ns, out, color);
	xp_text_fmt(out, "%-*s%s\n", LABEL, "odd one", triage->n_odd_one_out ? "" : "none: no process differs from the others");
	for (size_t i = 0; i < triage->n_odd_one_out; i++)
		odd_line(&triage->odd_one_out[i], out);
}
