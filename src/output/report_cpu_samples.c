/* SPDX-License-Identifier: Apache-2.0 */
/* CPU samples at a glance: hottest stacks as a tree, hot functions, threads. In: the value. Out: text. No state. */
#include <inttypes.h>

#include "inventory/cpu_samples.h"
#include "inventory/stack_text.h"
#include "output/human.h"
#include "output/report_measurement.h"
#include "output/stack_tree.h"

enum { LABEL = 11, MAX_LINES = 40, MAX_FUNCTIONS = 10, MAX_THREADS = 8, NAME = 52, PATTERN = 22 };
#define LEAST_BRANCH 0.02

static void label(struct xp_text *out, const char *text)
{
	xp_text_fmt(out, "%-*s", LABEL, text);
}

static void head(const struct xp_cpu_samples *s, struct xp_text *out, bool color)
{
	const struct xp_cpu_collection *c = &s->collection;
	char window[XP_HUMAN_SIZE], cpu[XP_HUMAN_SIZE];

	xp_human_tone(out, XP_TONE_STRONG, color);
	label(out, "cpu");
	if (s->inventory.name)
		xp_human_text(out, s->inventory.name, 40);
	else
		xp_text_fmt(out, "pid %u", s->head.target.pid);
	xp_human_tone(out, XP_TONE_PLAIN, color);
	xp_text_fmt(out, ", window %s, %s: ", xp_human_ns(window, (double)c->window_ns), xp_status_names[s->head.status]);
	xp_text_fmt(out, "%" PRIu64 " samples", c->observed_samples);
	xp_text_fmt(out, " of %s CPU time", xp_human_ns(cpu, (double)c->target_cpu_ns));
	if (c->coverage.set)
		xp_text_fmt(out, ", coverage %.2f", c->coverage.v);
	xp_text_char(out, '\n');
	if (s->symbolization.python_version)
		xp_text_fmt(out, "%*sPython %s, frames %s\n", LABEL, "", s->symbolization.python_version,
			    xp_python_status_names[s->symbolization.python_status]);
}

static void stacks(const struct xp_cpu_samples *s, struct xp_text *out, bool color)
{
	if (!s->collection.observed_samples) {
		xp_text_str(out, "\nno sample: the process used no CPU time in the window\n");
		return;
	}
	xp_human_tone(out, XP_TONE_STRONG, color);
	xp_text_str(out, "\nstacks     callers above callees, share of all samples\n");
	xp_human_tone(out, XP_TONE_PLAIN, color);
	xp_stack_tree(s, LEAST_BRANCH, MAX_LINES, out);
}

static void function_line(const struct xp_hotspot *spot, struct xp_text *out)
{
	const char *module = spot->frame->kind == XP_FRAME_KERNEL ? "kernel" : xp_path_base(spot->frame->module_path);
	xp_auto_builder name = { .limit = 400 };

	xp_frame_text(spot->frame, &name);
	xp_text_fmt(out, "%*s%6.1f%% %6.1f%%  ", LABEL - 3, "", spot->exclusive_proportion * 100, spot->inclusive_proportion * 100);
	size_t used = xp_human_text(out, name.data ? name.data : "?", NAME);
	if (module && spot->frame->symbol) {
		xp_text_fmt(out, "%*s ", (int)(NAME - used), "");
		xp_human_text(out, module, 18);
	}
	xp_text_char(out, '\n');
}

static void functions(const struct xp_cpu_samples *s, struct xp_text *out, bool color)
{
	size_t n = s->inventory.n_hotspots < MAX_FUNCTIONS ? s->inventory.n_hotspots : MAX_FUNCTIONS;

	if (!n)
		return;
	xp_human_tone(out, XP_TONE_STRONG, color);
	xp_text_str(out, "\nfunctions      self   total\n");
	xp_human_tone(out, XP_TONE_PLAIN, color);
	for (size_t i = 0; i < n && (!i || s->inventory.hotspots[i].exclusive_samples); i++)
		function_line(&s->inventory.hotspots[i], out);
}

static void threads(const struct xp_cpu_samples *s, struct xp_text *out)
{
	char cpu[XP_HUMAN_SIZE];

	if (!s->n_threads)
		return;
	xp_text_char(out, '\n');
	for (size_t i = 0; i < s->n_threads && i < MAX_THREADS; i++) {
		const struct xp_cpu_pattern *pattern = &s->threads[i];

		label(out, i ? "" : "threads");
		size_t used = xp_human_text(out, pattern->name_pattern, PATTERN);
		xp_text_fmt(out, "%*s%9" PRIu64 " samples %10s  in %u thread%s\n", (int)(PATTERN - used), "", pattern->samples,
			    xp_human_ns(cpu, (double)pattern->cpu_ns), pattern->threads, pattern->threads == 1 ? "" : "s");
	}
}

void xp_cpu_samples_report(const void *value, struct xp_text *out, bool color)
{
	const struct xp_cpu_samples *s = value;

	head(s, out, color);
	stacks(s, out, color);
	functions(s, out, color);
	threads(s, out);
	if (s->off_cpu) {
		xp_text_char(out, '\n');
		xp_report_off_cpu(s->off_cpu, out, color);
	}
	xp_report_quality(&s->quality, out, color);
	xp_report_cost(s->head.cost, out, color);
	xp_report_further_warnings(s->head.warnings, s->head.n_warnings, &s->quality, out, color);
	if (s->head.evidence.artifact) {
		label(out, "evidence");
		xp_human_tail(out, s->head.evidence.artifact->path, XP_REPORT_COLUMNS - LABEL);
		xp_text_char(out, '\n');
	}
}
