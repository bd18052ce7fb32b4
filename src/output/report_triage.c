// SPDX-License-Identifier: Apache-2.0
/* A triage at a glance: findings with numbers and the command to paste, then the window by source. In: the value. Out: text. No state. */
#include "output/report_triage.h"

#include <inttypes.h>
#include <string.h>

#include "output/command_line.h"
#include "output/human.h"
#include "output/report_measurement.h"
#include "output/report_off_cpu.h"
#include "output/report_gpu_health.h"
#include "output/report_triage_gpu.h"
#include "output/report_triage_processes.h"
#include "output/report_triage_sources.h"
#include "result/triage.h"

enum { LABEL = 11, NAME = 18, SHARE_BAR = 20, INDENT = 4, MAX_EVIDENCE = 5, MAX_STACK = 6, WHOLE_OF_SEVERAL = 3 };

static void label(struct xp_text *out, const char *text)
{
	xp_text_fmt(out, "%-*s", LABEL, text);
}

static void head(const struct xp_triage *t, struct xp_text *out, bool color)
{
	char text[XP_HUMAN_SIZE];

	xp_human_tone(out, XP_TONE_STRONG, color);
	label(out, "triage");
	if (t->name)
		xp_human_text(out, t->name, XP_REPORT_COLUMNS - LABEL - 40);
	else if (t->target)
		xp_text_fmt(out, "pid %u", t->target->pid);
	else
		xp_text_fmt(out, "%zu processes", t->n_processes);
	xp_human_tone(out, XP_TONE_PLAIN, color);
	xp_text_fmt(out, ", window %s, %s\n", xp_human_ns(text, (double)t->window.duration_ns), xp_status_names[t->status]);
}

/* Numbers and short texts of the evidence on one wrapped line; names that end in _ns are shown as times. */
static void evidence_line(const struct xp_finding *finding, struct xp_text *out)
{
	xp_auto_builder line = { 0 };
	char text[XP_HUMAN_SIZE];
	const char *key;
	json_t *value;
	unsigned shown = 0;

	json_object_foreach(finding->evidence, key, value)
	{
		size_t len = strlen(key);
		bool time = len > 3 && !strcmp(key + len - 3, "_ns");

		if (shown == MAX_EVIDENCE || !(json_is_number(value) || json_is_string(value)) || !strcmp(key, "tid"))
			continue;
		xp_text_str(&line, shown++ ? ", " : "");
		for (size_t i = 0; i < (time ? len - 3 : len); i++)
			xp_text_char(&line, key[i] == '_' ? ' ' : key[i]);
		xp_text_char(&line, ' ');
		if (json_is_string(value))
			xp_text_str(&line, json_string_value(value));
		else if (time)
			xp_text_str(&line, xp_human_ns(text, json_number_value(value)));
		else if (strstr(key, "share") || strstr(key, "proportion"))
			xp_text_fmt(&line, "%.0f%%", json_number_value(value) * 100);
		else if (json_is_integer(value))
			xp_text_fmt(&line, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		else
			xp_text_fmt(&line, "%.2f", json_real_value(value));
	}
	if (!shown)
		return;
	xp_text_fmt(out, "%*s", INDENT, "");
	xp_human_wrap(out, line.data, INDENT, INDENT);
	xp_text_char(out, '\n');
}

/* A list of the evidence as lines: where hung threads sit, which calls are open. */
static unsigned list_lines(const struct xp_finding *finding, const char *key, struct xp_text *out)
{
	json_t *list = json_object_get(finding->evidence, key), *entry;
	char text[XP_HUMAN_SIZE];
	unsigned lines = 0;
	size_t i;

	json_array_foreach(list, i, entry)
	{
		const char *call = json_string_value(json_object_get(entry, "syscall_name"));
		const char *channel = json_string_value(json_object_get(entry, "wait_channel"));
		json_t *age = json_object_get(entry, "age_ns");

		if (!call && !channel)
			continue;
		xp_text_fmt(out, "%*sthread ", INDENT, "");
		xp_human_text(out, json_string_value(json_object_get(entry, "thread_name")), NAME);
		xp_text_fmt(out, " (%" JSON_INTEGER_FORMAT ") in %s", json_integer_value(json_object_get(entry, "tid")),
			    call ? call : "the kernel");
		if (channel) {
			xp_text_str(out, ", ");
			xp_human_text(out, channel, 30);
		}
		if (age)
			xp_text_fmt(out, ", for at least %s of the window", xp_human_ns(text, json_number_value(age)));
		xp_text_char(out, '\n');
		lines++;
	}
	return lines;
}

/* Where a hot function is called from, and the Python line above it. */
static void stack_line(const struct xp_finding *finding, struct xp_text *out)
{
	json_t *stack = json_object_get(finding->evidence, "stack"), *line = json_object_get(finding->evidence, "python_line");
	xp_auto_builder text = { 0 };
	size_t n = json_array_size(stack);

	for (size_t i = n < MAX_STACK ? n : MAX_STACK; i > 0; i--)
		xp_text_fmt(&text, "%s %s", json_string_value(json_array_get(stack, i - 1)), i > 1 ? "> " : "");
	if (n > 1) {
		xp_text_fmt(out, "%*s", INDENT, "");
		xp_human_wrap(out, text.data, INDENT, INDENT);
		xp_text_char(out, '\n');
	}
	const char *path = json_string_value(json_object_get(line, "source_path"));
	if (!path)
		return;
	xp_text_fmt(out, "%*sPython line ", INDENT, "");
	xp_human_tail(out, path, 60);
	xp_text_fmt(out, ":%" JSON_INTEGER_FORMAT ", %.0f%% of it\n", json_integer_value(json_object_get(line, "line")),
		    json_number_value(json_object_get(line, "share")) * 100);
}

/* Commands stay whole: a line that is cut can't be pasted. */
static void paste_line(const char *command, unsigned column, struct xp_text *out, bool color)
{
	xp_text_fmt(out, "%*s", (int)column, "");
	xp_human_tone(out, XP_TONE_STRONG, color);
	xp_text_str(out, command);
	xp_human_tone(out, XP_TONE_PLAIN, color);
	xp_text_char(out, '\n');
}

/* Selectors of one function that do not fit on a line: what they share is said once. */
static void measure_text(const char *start, const char *end, struct xp_text *out)
{
	enum { ROOM = XP_REPORT_COLUMNS - INDENT - 30 };
	const char *colon = strrchr(start, ':');
	size_t shared = colon ? (size_t)(colon - start) : 0;

	if (shared && strlen(start) + strlen(end) > ROOM && !strncmp(start, end, shared + 1))
		xp_text_fmt(out, "measure %.*s from %s to %s exactly", (int)shared, start, colon + 1, end + shared + 1);
	else
		xp_text_fmt(out, "measure %s -> %s exactly", start, end);
}

static void next_lines(const struct xp_triage *t, const struct xp_finding *finding, struct xp_text *out, bool color)
{
	const struct xp_next_spec *spec = finding->next;
	const struct xp_next_action *action = finding->next;
	xp_auto_builder command = { 0 };
	xp_auto_builder text = { 0 };
	bool paste = xp_next_command(finding, t->invocation, &command);

	xp_text_fmt(out, "%*snext: ", INDENT, "");
	if (spec->kind == XP_NEXT_SPEC) {
		measure_text(spec->spec->start_selector, spec->spec->end_selector, &text);
	} else {
		xp_text_str(&text, action->message);
		if (action->object && !paste)
			xp_text_fmt(&text, " (%s)", action->object);
	}
	xp_human_wrap(out, text.data, INDENT + 6, INDENT + 6);
	xp_text_str(out, paste && spec->kind == XP_NEXT_SPEC ? ":\n" : "\n");
	if (paste)
		paste_line(command.data, INDENT + 2, out, color);
}

static void finding_lines(const struct xp_triage *t, const struct xp_finding *finding, struct xp_text *out, bool color)
{
	xp_text_fmt(out, "\n%2u. ", finding->rank);
	xp_human_tone(out, XP_TONE_STRONG, color);
	if (finding->window_share.set)
		xp_text_fmt(out, "%3.0f%% ", finding->window_share.v * 100);
	xp_text_str(out, finding->code);
	xp_human_tone(out, XP_TONE_PLAIN, color);
	xp_text_str(out, "  ");
	xp_human_text(out, finding->subject, 40);
	if (t->processes)
		xp_text_fmt(out, " of %u", finding->pid);
	if (finding->window_share.set) {
		xp_text_str(out, "  ");
		xp_human_tone(out, XP_TONE_WARN, color);
		xp_human_bar(out, (uint64_t)(finding->window_share.v * 1000), 1000, SHARE_BAR);
		xp_human_tone(out, XP_TONE_PLAIN, color);
	}
	xp_text_fmt(out, "%s\n%*s", finding->confidence == XP_ESTIMATED ? "  (estimated)" : "", INDENT, "");
	xp_human_wrap(out, finding->message, INDENT, INDENT);
	xp_text_char(out, '\n');
	evidence_line(finding, out);
	if (!list_lines(finding, "sitting_threads", out))
		list_lines(finding, "oldest_open_syscalls", out);
	if (!strncmp(finding->code, "cpu_", 4))
		stack_line(finding, out);
	else
		xp_report_blocked_evidence(finding->evidence, INDENT, out);
	next_lines(t, finding, out, color);
}

/* Of several processes the later ones: the commands of all would hide who it is about. */
static void finding_brief(const struct xp_finding *finding, struct xp_text *out)
{
	xp_text_fmt(out, "%2u. ", finding->rank);
	if (finding->window_share.set)
		xp_text_fmt(out, "%3.0f%% ", finding->window_share.v * 100);
	xp_text_fmt(out, "%s  process %u: ", finding->code, finding->pid);
	xp_human_text(out, finding->message, XP_REPORT_COLUMNS - 45);
	xp_text_char(out, '\n');
}

static void findings_section(const struct xp_triage *t, struct xp_text *out, bool color)
{
	size_t whole = t->processes ? WHOLE_OF_SEVERAL : t->n_findings;

	if (!t->n_findings)
		xp_text_str(out, "\nfindings   none: no rule saw its cause above its bound; the numbers below are all there is to say\n");
	for (size_t i = 0; i < t->n_findings && i < whole; i++)
		finding_lines(t, t->findings[i], out, color);
	xp_text_str(out, t->n_findings > whole ? "\n" : "");
	for (size_t i = whole; i < t->n_findings; i++)
		finding_brief(t->findings[i], out);
	if (t->findings_total > t->n_findings)
		xp_text_fmt(out, "\n    and %zu smaller ones\n", t->findings_total - t->n_findings);
}

static void path_line(const char *name, const struct xp_artifact *artifact, struct xp_text *out)
{
	char text[XP_HUMAN_SIZE];

	label(out, name);
	xp_human_tail(out, artifact->path, XP_REPORT_COLUMNS - LABEL - XP_HUMAN_SIZE);
	xp_text_fmt(out, ", %s\n", xp_human_bytes(text, artifact->bytes));
}

static void tail(const struct xp_triage *t, struct xp_text *out, bool color)
{
	xp_text_str(out, "\nnot told\n");
	for (size_t i = 0; i < t->n_not_covered; i++) {
		xp_text_fmt(out, "%*s- ", INDENT, "");
		xp_human_wrap(out, t->not_covered[i].message, INDENT + 2, INDENT + 2);
		xp_text_char(out, '\n');
	}
	xp_report_quality(&t->quality, out, color);
	xp_report_cost(t->cost, out, color);
	xp_report_warnings(t->warnings, t->n_warnings, out, color);
	if (t->evidence.artifact)
		path_line("evidence", t->evidence.artifact, out);
	if (t->report)
		path_line("report", t->report, out);
}

/* Once more where a terminal ends: the command of the first finding that has one. */
static void last_line(const struct xp_triage *t, struct xp_text *out, bool color)
{
	for (size_t i = 0; i < t->n_findings; i++) {
		xp_auto_builder command = { 0 };

		if (!xp_next_command(t->findings[i], t->invocation, &command))
			continue;
		xp_text_fmt(out, "\nnext, for finding %u:\n", t->findings[i]->rank);
		paste_line(command.data, 2, out, color);
		return;
	}
}

void xp_report_triage(const void *value, struct xp_text *out, bool color)
{
	const struct xp_triage *t = value;

	head(t, out, color);
	xp_report_triage_processes(t, out, color);
	findings_section(t, out, color);
	if (t->summary)
		xp_text_str(out, "\nthe window in numbers\n");
	xp_report_triage_threads(t->summary, t->window.duration_ns, out);
	xp_report_triage_cgroup(t->summary, out);
	xp_report_triage_functions(t->summary, out);
	xp_report_triage_off_cpu(t->summary ? t->summary->off_cpu : NULL, out);
	xp_report_triage_syscalls(t->summary, out);
	xp_report_gpu_health(t->summary ? t->summary->gpu : NULL, out);
	xp_report_triage_kernels(t->summary ? t->summary->cuda_kernels : NULL, out);
	xp_report_triage_copies(t->summary ? t->summary->cuda_copies : NULL, out);
	tail(t, out, color);
	last_line(t, out, color);
}
