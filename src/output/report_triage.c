// SPDX-License-Identifier: Apache-2.0
/* A triage at a glance: threads as bars, findings with numbers, the next command to paste. In: the value. Out: text. No state. */
#include "output/report_triage.h"

#include <inttypes.h>
#include <string.h>

#include "output/human.h"
#include "output/report_measurement.h"
#include "output/report_off_cpu.h"
#include "result/triage.h"

enum { LABEL = 11, NAME = 18, BAR = 40, SHARE_BAR = 20, INDENT = 4, MAX_EVIDENCE = 5, MAX_STACK = 6, MAX_SYSCALLS = 4 };

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
		xp_human_text(out, t->name, XP_REPORT_COLUMNS - LABEL);
	else if (t->target)
		xp_text_fmt(out, "pid %u", t->target->pid);
	xp_human_tone(out, XP_TONE_PLAIN, color);
	xp_text_fmt(out, ", window %s, %s\n", xp_human_ns(text, (double)t->window.duration_ns), xp_status_names[t->status]);
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

static void threads_section(const struct xp_triage *t, struct xp_text *out)
{
	const struct xp_triage_threads *threads = t->summary ? t->summary->threads : NULL;
	char text[XP_HUMAN_SIZE];

	if (!threads)
		return;
	label(out, "threads");
	xp_text_fmt(out, "%u seen, %u active", threads->count, threads->active);
	if (threads->started || threads->ended)
		xp_text_fmt(out, ", %u started, %u ended", threads->started, threads->ended);
	if (threads->vanished_cpu_ns)
		xp_text_fmt(out, ", %s of CPU time by short-lived ones", xp_human_ns(text, (double)threads->vanished_cpu_ns));
	xp_text_str(out, "   (# on a CPU, = waiting for one, blank blocked)\n");
	for (size_t i = 0; i < threads->n_top; i++)
		thread_line(&threads->top[i], t->window.duration_ns, out);
}

static void cgroup_section(const struct xp_triage *t, struct xp_text *out)
{
	const struct xp_triage_cgroup *group = t->summary ? t->summary->cgroup : NULL;
	char text[XP_HUMAN_SIZE];

	if (!group)
		return;
	label(out, "cgroup");
	xp_human_text(out, group->path, XP_REPORT_COLUMNS - LABEL - 50);
	if (group->cpus.set)
		xp_text_fmt(out, ": limit %.2f CPUs", group->cpus.v);
	else
		xp_text_str(out, ": no CPU limit");
	if (group->throttled_ns.set && group->throttled_periods.set && group->throttled_periods.v)
		xp_text_fmt(out, ", stopped for %s in %" PRIu64 " periods", xp_human_ns(text, (double)group->throttled_ns.v),
			    group->throttled_periods.v);
	xp_text_char(out, '\n');
}

static void syscalls_section(const struct xp_triage *t, struct xp_text *out)
{
	const struct xp_triage_syscalls *calls = t->summary ? t->summary->syscalls : NULL;
	char total[XP_HUMAN_SIZE], most[XP_HUMAN_SIZE];

	if (!calls)
		return;
	label(out, "syscalls");
	xp_text_fmt(out, "%" PRIu64 " calls, %" PRIu64 " failed, %" PRIu64 " open at the end\n", calls->calls, calls->errors,
		    calls->open_at_end);
	for (size_t i = 0; i < calls->n_top && i < MAX_SYSCALLS; i++) {
		const struct xp_triage_top_syscall *call = &calls->top[i];

		xp_text_fmt(out, "%*s%-18s %9" PRIu64 " calls, total %9s, longest %9s\n", LABEL, "",
			    call->syscall_name ? call->syscall_name : "(unnamed)", call->count, xp_human_ns(total, (double)call->total_ns),
			    xp_human_ns(most, (double)call->max_ns));
	}
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
		xp_text_fmt(&line, "%s%.*s ", shown++ ? ", " : "", (int)(time ? len - 3 : len), key);
		if (json_is_string(value))
			xp_text_str(&line, json_string_value(value));
		else if (time)
			xp_text_str(&line, xp_human_ns(text, json_number_value(value)));
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

/* A word as a shell takes it. */
static void shell_word(struct xp_text *out, const char *word)
{
	bool plain = *word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%~") == strlen(word);

	if (plain) {
		xp_text_str(out, word);
		return;
	}
	xp_text_char(out, '\'');
	for (const char *p = word; *p; p++) {
		if (*p == '\'')
			xp_text_str(out, "'\\''");
		else
			xp_text_char(out, *p);
	}
	xp_text_char(out, '\'');
}

static void command_line(const struct xp_next_action *action, struct xp_text *out)
{
	xp_text_fmt(out, "%*s", INDENT + 2, "");
	for (size_t i = 0; i < action->n_command; i++) {
		xp_text_str(out, i ? " " : "");
		shell_word(out, action->command[i]);
	}
	xp_text_char(out, '\n');
}

static void next_lines(const struct xp_finding *finding, struct xp_text *out, bool color)
{
	const struct xp_next_spec *spec = finding->next;
	const struct xp_next_action *action = finding->next;

	xp_text_fmt(out, "%*snext: ", INDENT, "");
	if (spec->kind == XP_NEXT_SPEC) {
		xp_text_fmt(out, "measure %s -> %s exactly:\n", spec->spec->start_selector, spec->spec->end_selector);
		xp_human_tone(out, XP_TONE_STRONG, color);
		if (spec->path) {
			xp_text_fmt(out, "%*sxprobe measure --spec ", INDENT + 2, "");
			shell_word(out, spec->path);
			xp_text_char(out, '\n');
		}
		xp_human_tone(out, XP_TONE_PLAIN, color);
		return;
	}
	xp_human_wrap(out, action->message, INDENT + 6, INDENT + 6);
	if (action->object && !action->n_command) {
		xp_text_str(out, " (");
		xp_human_text(out, action->object, XP_REPORT_COLUMNS);
		xp_text_char(out, ')');
	}
	xp_text_char(out, '\n');
	xp_human_tone(out, XP_TONE_STRONG, color);
	if (action->n_command)
		command_line(action, out);
	xp_human_tone(out, XP_TONE_PLAIN, color);
}

static void finding_lines(const struct xp_finding *finding, struct xp_text *out, bool color)
{
	size_t columns = finding->window_share.set ? (size_t)(finding->window_share.v * SHARE_BAR + 0.5) : 0;

	xp_text_fmt(out, "\n%2u. ", finding->rank);
	xp_human_tone(out, XP_TONE_STRONG, color);
	if (finding->window_share.set)
		xp_text_fmt(out, "%3.0f%% ", finding->window_share.v * 100);
	xp_text_str(out, finding->code);
	xp_human_tone(out, XP_TONE_PLAIN, color);
	xp_text_str(out, "  ");
	xp_human_text(out, finding->subject, 40);
	if (columns)
		xp_text_str(out, "  ");
	for (size_t i = 0; i < columns; i++)
		xp_text_char(out, '#');
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
	next_lines(finding, out, color);
}

static void findings_section(const struct xp_triage *t, struct xp_text *out, bool color)
{
	if (!t->n_findings)
		xp_text_str(out, "\nfindings   none: no rule saw its cause above its bound; the numbers above are all there is to say\n");
	for (size_t i = 0; i < t->n_findings; i++)
		finding_lines(t->findings[i], out, color);
	if (t->findings_total > t->n_findings)
		xp_text_fmt(out, "\n    and %zu smaller ones\n", t->findings_total - t->n_findings);
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
	if (!t->evidence.artifact)
		return;
	label(out, "evidence");
	xp_human_tail(out, t->evidence.artifact->path, XP_REPORT_COLUMNS - LABEL);
	xp_text_char(out, '\n');
}

void xp_report_triage(const void *value, struct xp_text *out, bool color)
{
	const struct xp_triage *t = value;

	head(t, out, color);
	threads_section(t, out);
	cgroup_section(t, out);
	xp_report_triage_off_cpu(t->summary ? t->summary->off_cpu : NULL, out);
	syscalls_section(t, out);
	findings_section(t, out, color);
	tail(t, out, color);
}
