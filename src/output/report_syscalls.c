/* SPDX-License-Identifier: Apache-2.0 */
/* A system call inventory at a glance: where the time went, what failed, who does not return. In: the value. Out: text. No state. */
#include <inttypes.h>

#include "inventory/syscalls.h"
#include "output/human.h"
#include "output/report_measurement.h"

enum { LABEL = 11, NAME = 22, THREAD = 16, MAX_GROUPS = 20, MAX_OPEN = 8 };

static void label(struct xp_text *out, const char *text)
{
	xp_text_fmt(out, "%-*s", LABEL, text);
}

static void head(const struct xp_syscalls *s, struct xp_text *out, bool color)
{
	const struct xp_syscall_collection *c = &s->collection;
	char text[XP_HUMAN_SIZE];

	xp_human_tone(out, XP_TONE_STRONG, color);
	label(out, "syscalls");
	if (s->inventory.name)
		xp_human_text(out, s->inventory.name, 40);
	else
		xp_text_fmt(out, "pid %u", s->head.target.pid);
	xp_human_tone(out, XP_TONE_PLAIN, color);
	xp_text_fmt(out, ", window %s, %s: ", xp_human_ns(text, (double)c->window_ns), xp_status_names[s->head.status]);
	xp_text_fmt(out, "%" PRIu64 " calls completed, %" PRIu64 " open at the end\n", c->matched_exits, c->inflight_at_end);
}

/* A number that has no name is shown as such. */
static void call_name(struct xp_text *out, const char *name, uint32_t nr, bool compat, size_t columns)
{
	char number[32];

	snprintf(number, sizeof(number), "number %u", nr);
	size_t used = xp_human_text(out, name ? name : number, columns - (compat ? 8 : 0));
	if (compat)
		xp_text_str(out, " 32-bit");
	used += compat ? 7 : 0;
	xp_text_fmt(out, "%*s", (int)(columns > used ? columns - used : 0), "");
}

/* The most frequent errors, as many as the line has room for. */
static void errors(const struct xp_syscall_group *group, size_t room, struct xp_text *out)
{
	char text[64];

	for (size_t i = 0; i < group->n_errors_by_errno; i++) {
		size_t len = (size_t)snprintf(text, sizeof(text), "%s%s %" PRIu64, i ? ", " : "  ", group->errors_by_errno[i].name,
					      group->errors_by_errno[i].n);

		if (len + 3 > room) {
			xp_text_str(out, i ? ", …" : "  …");
			return;
		}
		xp_text_str(out, text);
		room -= len;
	}
}

static void group_line(const struct xp_syscall_group *group, struct xp_text *out)
{
	char total[XP_HUMAN_SIZE], mean[XP_HUMAN_SIZE], most[XP_HUMAN_SIZE];

	size_t begin = out->len;

	label(out, "");
	call_name(out, group->syscall_name, group->syscall_number, group->compat, NAME);
	xp_text_fmt(out, "%9" PRIu64 " %10s %10s %10s", group->count, xp_human_ns(total, (double)group->duration_ns.total),
		    xp_human_ns(mean, group->duration_ns.mean), xp_human_ns(most, (double)group->duration_ns.max));
	errors(group, XP_REPORT_COLUMNS - (out->len - begin), out);
	xp_text_char(out, '\n');
}

static void groups(const struct xp_syscalls *s, struct xp_text *out)
{
	size_t n = s->inventory.n_groups < MAX_GROUPS ? s->inventory.n_groups : MAX_GROUPS;

	if (!n)
		return;
	label(out, "calls");
	xp_text_fmt(out, "%-*s%9s %10s %10s %10s  %s\n", NAME, "name", "count", "total", "mean", "longest", "errors");
	for (size_t i = 0; i < n; i++)
		group_line(&s->inventory.groups[i], out);
	if (s->collection.groups > n)
		xp_text_fmt(out, "%*s%" PRIu64 " more with less time\n", LABEL, "", s->collection.groups - n);
}

static void open_calls(const struct xp_syscalls *s, struct xp_text *out)
{
	size_t n = s->n_open_at_end < MAX_OPEN ? s->n_open_at_end : MAX_OPEN;
	char age[XP_HUMAN_SIZE];

	for (size_t i = 0; i < n; i++) {
		const struct xp_syscall_open *open = &s->open_at_end[i];

		label(out, i ? "" : "open");
		call_name(out, open->syscall_name, open->syscall_number, false, NAME);
		xp_text_fmt(out, "%s%9s  thread ", open->started_before_window ? "> " : "  ", xp_human_ns(age, (double)open->age_ns));
		xp_human_text(out, open->thread_name, THREAD);
		xp_text_fmt(out, " (%u)%s\n", open->tid, open->started_before_window ? ", since before the window" : "");
	}
	if (s->collection.inflight_at_end > n)
		xp_text_fmt(out, "%*s%" PRIu64 " more\n", LABEL, "", s->collection.inflight_at_end - n);
}

static void threads(const struct xp_syscalls *s, struct xp_text *out)
{
	char total[XP_HUMAN_SIZE];

	for (size_t i = 0; i < s->n_threads && i < MAX_OPEN; i++) {
		const struct xp_syscall_threads *group = &s->threads[i];

		label(out, i ? "" : "threads");
		size_t used = xp_human_text(out, group->name_pattern, NAME);
		xp_text_fmt(out, "%*s%9" PRIu64 " %10s  in %u thread%s\n", (int)(NAME - used), "", group->calls,
			    xp_human_ns(total, (double)group->total_ns), group->threads, group->threads == 1 ? "" : "s");
	}
}

void xp_syscalls_report(const void *value, struct xp_text *out, bool color)
{
	const struct xp_syscalls *s = value;

	head(s, out, color);
	groups(s, out);
	open_calls(s, out);
	threads(s, out);
	xp_report_quality(&s->quality, out, color);
	xp_report_cost(s->head.cost, out, color);
	xp_report_warnings(s->head.warnings, s->head.n_warnings, out, color);
	if (s->head.evidence.artifact) {
		label(out, "evidence");
		xp_human_tail(out, s->head.evidence.artifact->path, XP_REPORT_COLUMNS - LABEL);
		xp_text_char(out, '\n');
	}
}
