/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph at a glance: one line an edge with its spread as a bar, what to doubt, and the command that looks into the slowest edge. In: the
 * value. Out: text. No state.
 */
#include "output/report_graph.h"

#include <inttypes.h>
#include <string.h>

#include "output/command_line.h"
#include "output/human.h"
#include "output/report_measurement.h"
#include "result/graph.h"

enum { LABEL = 11, NAME = 22, NUMBER = 10, BAR = 20 };

static void head(const struct xp_graph_result *g, struct xp_text *out, bool color)
{
	char text[XP_HUMAN_SIZE];

	xp_human_tone(out, XP_TONE_STRONG, color);
	xp_text_fmt(out, "%-*s", LABEL, "graph");
	xp_human_text(out, g->name ? g->name : "without a name", XP_REPORT_COLUMNS - LABEL);
	xp_human_tone(out, XP_TONE_PLAIN, color);
	xp_text_fmt(out, "\n%-*s", LABEL, "");
	if (g->target)
		xp_text_fmt(out, "pid %u, ", g->target->pid);
	xp_text_fmt(out, "window %s, %s, %zu edges of one capture\n\n", xp_human_ns(text, (double)g->collection.window_ns),
		    xp_status_names[g->status], g->n_edges);
}

/* Shortest pairs to p50 as '#', on to p99 as '-', against the slowest p99 of all edges. */
static void spread(struct xp_text *out, const struct xp_latency *latency, uint64_t full)
{
	size_t half = full ? (size_t)((double)latency->p50 / (double)full * BAR + 0.5) : 0;
	size_t tail = full ? (size_t)((double)latency->p99 / (double)full * BAR + 0.5) : 0;

	if (!half)
		half = 1;
	for (size_t i = 0; i < half || i < tail; i++)
		xp_text_char(out, i < half ? '#' : '-');
}

static void number(struct xp_text *out, uint64_t ns)
{
	char text[XP_HUMAN_SIZE];

	xp_text_fmt(out, "%*s", NUMBER, xp_human_ns(text, (double)ns));
}

static void edge_line(const struct xp_graph_edge_result *edge, uint64_t full, struct xp_text *out, bool color)
{
	bool doubtful = edge->quality.verdict == XP_CAUTIOUS;

	xp_human_tone(out, doubtful ? XP_TONE_WARN : XP_TONE_GOOD, color);
	xp_text_fmt(out, "%c ", doubtful ? '!' : ' ');
	size_t used = xp_human_text(out, edge->name, NAME);
	xp_human_tone(out, XP_TONE_PLAIN, color);
	xp_text_fmt(out, "%*s%9" PRIu64, (int)(NAME - used), "", edge->samples.matched);
	if (edge->latency_ns) {
		number(out, edge->latency_ns->p50);
		number(out, edge->latency_ns->p90);
		number(out, edge->latency_ns->p99);
		number(out, edge->latency_ns->max);
		xp_text_str(out, "  ");
		spread(out, edge->latency_ns, full);
	}
	xp_text_char(out, '\n');
}

static uint64_t slowest_p99(const struct xp_graph_result *g)
{
	uint64_t full = 0;

	for (size_t i = 0; i < g->n_edges; i++)
		if (g->edges[i].latency_ns && g->edges[i].latency_ns->p99 > full)
			full = g->edges[i].latency_ns->p99;
	return full;
}

static void edges(const struct xp_graph_result *g, struct xp_text *out, bool color)
{
	uint64_t full = slowest_p99(g);

	xp_human_tone(out, XP_TONE_DIM, color);
	xp_text_fmt(out, "  %-*s%9s%*s%*s%*s%*s  # to p50, - to p99\n", NAME, "edge", "pairs", NUMBER, "p50", NUMBER, "p90", NUMBER, "p99",
		    NUMBER, "max");
	xp_human_tone(out, XP_TONE_PLAIN, color);
	for (size_t i = 0; i < g->n_edges; i++)
		edge_line(&g->edges[i], full, out, color);
	xp_text_char(out, '\n');
}

static bool says(const struct xp_quality *quality, const char *code)
{
	for (size_t i = 0; i < quality->n_issues; i++)
		if (!strcmp(quality->issues[i].code, code))
			return true;
	return false;
}

/* What makes single edges doubtful; the capture's own doubts are told once, with its verdict. */
static void doubts(const struct xp_graph_result *g, struct xp_text *out)
{
	for (size_t i = 0; i < g->n_edges; i++) {
		const struct xp_quality *quality = &g->edges[i].quality;

		for (size_t k = 0; k < quality->n_issues; k++) {
			const struct xp_issue *issue = &quality->issues[k];

			if (issue->severity != XP_CAUTION || says(&g->quality, issue->code))
				continue;
			xp_text_fmt(out, "%*s- ", LABEL, "");
			size_t used = xp_human_text(out, g->edges[i].name, NAME);
			xp_text_str(out, ": ");
			xp_human_wrap(out, issue->message, LABEL + 2 + used + 2, LABEL + 2);
			xp_text_char(out, '\n');
		}
	}
}

static void verdict(const struct xp_graph_result *g, struct xp_text *out, bool color)
{
	bool good = g->quality.verdict == XP_GOOD;

	xp_text_fmt(out, "%-*s", LABEL, "verdict");
	xp_human_tone(out, good ? XP_TONE_GOOD : XP_TONE_WARN, color);
	xp_text_str(out, good ? "good" : "caution");
	xp_human_tone(out, XP_TONE_PLAIN, color);
	xp_text_str(out, g->quality.n_issues || !good ? ":\n" : "\n");
	for (size_t i = 0; i < g->quality.n_issues; i++) {
		xp_text_fmt(out, "%*s- ", LABEL, "");
		xp_human_wrap(out, g->quality.issues[i].message, LABEL + 2, LABEL + 2);
		xp_text_char(out, '\n');
	}
	doubts(g, out);
}

static const struct xp_graph_edge_result *slowest(const struct xp_graph_result *g)
{
	const struct xp_graph_edge_result *found = NULL;

	for (size_t i = 0; i < g->n_edges; i++)
		if (g->edges[i].latency_ns && (!found || g->edges[i].latency_ns->p99 > found->latency_ns->p99))
			found = &g->edges[i];
	return found;
}

static void next_step(const struct xp_graph_result *g, const struct xp_artifact *artifact, struct xp_text *out, bool color)
{
	const struct xp_graph_edge_result *edge = slowest(g);

	if (!edge || strcmp(artifact->format, "jsonl") != 0)
		return;
	xp_text_fmt(out, "%-*sthe slowest edge alone, from the same events:\n%*s", LABEL, "next", LABEL, "");
	xp_human_tone(out, XP_TONE_STRONG, color);
	xp_text_fmt(out, "%s measure --input ", g->invocation ? g->invocation : "xprobe");
	xp_shell_word(out, artifact->path);
	xp_text_str(out, " --from ");
	xp_shell_word(out, edge->start_selector);
	xp_text_str(out, " --to ");
	xp_shell_word(out, edge->end_selector);
	xp_text_fmt(out, " --match %s", xp_policy_names[edge->match_policy]);
	if (g->samples.set)
		xp_text_fmt(out, " --samples %" PRIu64, g->samples.v);
	else
		xp_text_str(out, " --duration-ms 3600000");
	xp_human_tone(out, XP_TONE_PLAIN, color);
	xp_text_char(out, '\n');
}

static void page(const struct xp_graph_result *g, struct xp_text *out)
{
	char text[XP_HUMAN_SIZE];

	if (!g->report)
		return;
	xp_text_fmt(out, "%-*s", LABEL, "report");
	xp_human_tail(out, g->report->path, XP_REPORT_COLUMNS - LABEL - XP_HUMAN_SIZE);
	xp_text_fmt(out, ", %s\n", xp_human_bytes(text, g->report->bytes));
}

static void evidence(const struct xp_graph_result *g, struct xp_text *out, bool color)
{
	const struct xp_artifact *artifact = g->evidence.artifact;
	char text[XP_HUMAN_SIZE];

	page(g, out);
	if (!artifact)
		return;
	xp_text_fmt(out, "%-*s", LABEL, "evidence");
	xp_human_tail(out, artifact->path, XP_REPORT_COLUMNS - LABEL);
	xp_text_fmt(out, "\n%*s%s, ", LABEL, "", artifact->format);
	if (artifact->event_count.set)
		xp_text_fmt(out, "%" PRIu64 " events, ", artifact->event_count.v);
	xp_text_fmt(out, "%s\n", xp_human_bytes(text, artifact->bytes));
	next_step(g, artifact, out, color);
}

void xp_report_graph(const void *value, struct xp_text *out, bool color)
{
	const struct xp_graph_result *g = value;

	head(g, out, color);
	edges(g, out, color);
	verdict(g, out, color);
	xp_report_cost(g->cost, out, color);
	xp_report_further_warnings(g->warnings, g->n_warnings, &g->quality, out, color);
	evidence(g, out, color);
}
