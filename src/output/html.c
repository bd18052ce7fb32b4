/* SPDX-License-Identifier: Apache-2.0 */
/* Format html: the parts of one page in a row. In: struct xp_html_triage, or struct xp_graph_result. Out: text. No state. */
#include "output/html.h"

#include <string.h>

#include "output/report_graph.h"
#include "output/report_triage.h"
#include "result/graph.h"
#include "result/triage.h"

static const char replacement[] = "\xef\xbf\xbd";

void xp_html_text(struct xp_text *out, const char *text)
{
	const char *end = text + strlen(text);

	while (text < end) {
		size_t len = xp_utf8_len(text, end);
		bool control = len == 1 && ((unsigned char)*text < ' ' || *text == 0x7f) && *text != '\n' && *text != '\t';

		if (*text == '&')
			xp_text_str(out, "&amp;");
		else if (*text == '<')
			xp_text_str(out, "&lt;");
		else if (*text == '>')
			xp_text_str(out, "&gt;");
		else if (*text == '"')
			xp_text_str(out, "&quot;");
		else if (*text == '\'')
			xp_text_str(out, "&#39;");
		else if (!len || control)
			xp_text_str(out, replacement);
		else
			xp_text_add(out, text, len);
		text += len ? len : 1;
	}
}

static void head(struct xp_text *out, const char *what, const char *name, const struct xp_target_id *target)
{
	xp_text_str(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
			 "<meta http-equiv=\"Content-Security-Policy\" content=\"");
	xp_text_str(out, xp_html_policy);
	xp_text_str(out, "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
			 "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
	xp_text_fmt(out, "xprobe %s", what);
	if (target)
		xp_text_fmt(out, " of pid %u", target->pid);
	if (name) {
		xp_text_str(out, ": ");
		xp_html_text(out, name);
	}
	xp_text_str(out, "</title>\n<style>");
	xp_text_str(out, xp_html_style);
	xp_text_str(out, "</style>\n</head>\n<body>\n");
}

/* Where scripts are off, the report for people stands for the page. */
static void tail(struct xp_text *out, const struct xp_text *report, const struct xp_text *data)
{
	xp_text_str(out, "<noscript><p>Scripts are off: this is the same report as text.</p>\n<pre>");
	xp_html_text(out, report->data ? report->data : "");
	xp_text_str(out, "</pre></noscript>\n<main id=\"page\"></main>\n<script type=\"application/json\" id=\"data\">");
	xp_text_add(out, data->data, data->len);
	xp_text_str(out, "</script>\n<script>");
	xp_text_str(out, xp_html_script);
	xp_text_str(out, "</script>\n</body>\n</html>\n");
}

static int write_html(const struct xp_output_input *input, const struct xp_sink *sink, struct xp_err *reterr)
{
	bool is_graph = input->record == &xp_graph_result_record;
	const struct xp_html_triage *page = is_graph ? NULL : input->value;
	const struct xp_graph_result *graph = is_graph ? input->value : NULL;
	xp_auto_builder out = { 0 };
	xp_auto_builder report = { 0 };
	xp_auto_builder data = { 0 };

	if (graph) {
		head(&out, "graph", graph->name, graph->target);
		xp_report_graph(graph, &report, false);
		xp_html_graph_data(graph, &data);
	} else {
		head(&out, "triage", page->triage->name, page->triage->target);
		xp_report_triage(page->triage, &report, false);
		xp_html_triage_data(page, &data);
	}
	tail(&out, &report, &data);
	return sink->write(sink->arg, out.data, out.len, reterr);
}

const struct xp_output xp_output_html = {
	.name = "html",
	.summary = "one self-contained page: findings, flame graphs, tables; no network",
	.takes = XP_TAKES_TRIAGE | XP_TAKES_GRAPH,
	.write = write_html,
};
