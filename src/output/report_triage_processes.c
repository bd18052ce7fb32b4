/* SPDX-License-Identifier: Apache-2.0 */
/* Several processes of one window, a line each. In: rows of the result. Out: text of at most 100 columns. No state. */
#include "output/report_triage_processes.h"

#include <stdio.h>

#include "inventory/stack_text.h"
#include "output/human.h"
#include "result/triage.h"

enum { LABEL = 11, NAME = 18, BAR = 20, REST = XP_REPORT_COLUMNS - 65, MAX_ODD = 4 };

static size_t marks(struct xp_text *out, char mark, uint64_t ns, uint64_t full_ns, size_t used)
{
	size_t n = (size_t)((double)ns / (double)full_ns * BAR + 0.5);

	n = n < BAR - used ? n : BAR - used;
	for (size_t i = 0; i < n; i++)
		xp_text_char(out, mark);
	return used + n;
}

/* A bar of one CPU: more than one is told by the number. */
static void time_columns(const struct xp_triage_threads *threads, uint64_t window_ns, struct xp_text *out)
{
	if (!threads || !window_ns) {
		xp_text_fmt(out, " |%*s|            ", BAR, "");
		return;
	}
	xp_text_str(out, " |");
	size_t used = marks(out, '#', threads->on_cpu_ns, window_ns, 0);
	used = marks(out, '=', threads->runqueue_ns, window_ns, used);
	xp_text_fmt(out, "%*s|%5.0f%%%5.0f%%", (int)(BAR - used), "", (double)threads->on_cpu_ns / (double)window_ns * 100,
		    (double)threads->runqueue_ns / (double)window_ns * 100);
}

/* Who waits for whom is what several processes are looked at for. */
static void finding_text(const struct xp_finding *finding, struct xp_text *out, bool color)
{
	json_t *child = json_object_get(finding->evidence, "child_pid");
	xp_auto_builder text = { 0 };

	if (finding->window_share.set)
		xp_text_fmt(&text, "%3.0f%% ", finding->window_share.v * 100);
	if (child)
		xp_text_fmt(&text, "%s -> %" JSON_INTEGER_FORMAT, finding->code, json_integer_value(child));
	else
		xp_text_fmt(&text, "%s %s", finding->code, finding->subject ? finding->subject : "");
	xp_human_tone(out, XP_TONE_WARN, color);
	xp_human_text(out, text.data, REST);
	xp_human_tone(out, XP_TONE_PLAIN, color);
}

static bool is_odd(const struct xp_triage *triage, uint32_t pid)
{
	for (size_t i = 0; i < triage->n_odd_one_out; i++)
		if (triage->odd_one_out[i].pid.set && triage->odd_one_out[i].pid.v == pid)
			return true;
	return false;
}

static void row_line(const struct xp_triage *triage, const struct xp_triage_row *row, struct xp_text *out, bool color)
{
	const char *name = row->executable && row->executable[0] ? xp_path_base(row->executable) : "without a name";
	size_t used = xp_human_text(out, name, NAME);

	xp_text_fmt(out, "%*s%8u%c", (int)(NAME - used), "", row->target->pid, is_odd(triage, row->target->pid) ? '*' : ' ');
	time_columns(row->summary ? row->summary->threads : NULL, triage->window.duration_ns, out);
	if (row->status == XP_FAILED)
		xp_text_str(out, "  ended");
	xp_text_str(out, "  ");
	if (row->n_findings)
		finding_text(row->findings[0], out, color);
	else
		xp_text_char(out, '-');
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
	char of[32] = "";

	if (triage->processes_total.set && triage->processes_total.v > triage->n_processes)
		snprintf(of, sizeof(of), " of %u", triage->processes_total.v);
	xp_text_fmt(out, "\n%-*s%zu%-14s# of one CPU, = waiting%*s cpu wait  largest finding\n", LABEL, "processes", triage->n_processes,
		    of, BAR - 18, "");
	for (size_t i = 0; i < triage->n_processes; i++)
		row_line(triage, &triage->processes[i], out, color);
	if (triage->n_odd_one_out)
		xp_text_fmt(out, "%-*s%s\n", LABEL, "odd one", "(*)");
	for (size_t i = 0; i < triage->n_odd_one_out && i < MAX_ODD; i++)
		odd_line(&triage->odd_one_out[i], out);
}
