/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One self-contained page of a triage or a graph (contract 6.7): no network, no other file, readable by script and, without scripts, as
 * the report for people. What the target supplies (names, paths) is data to the page, never markup.
 */
#ifndef XP_OUTPUT_HTML_H
#define XP_OUTPUT_HTML_H

#include "output/output.h"

struct xp_triage;
struct xp_triage_input;

/*
 * Bounds of the page's own lists, each told on the page when it is reached. A page is usually below 100 KB; with names and paths of the
 * longest kind a process can make 7 MB of it.
 */
enum { XP_HTML_THREADS = 200, XP_HTML_SYSCALLS = 200, XP_HTML_KERNELS = 100, XP_HTML_NODES = 6000, XP_HTML_NODES_OF_SEVERAL = 1500 };

/* What a page of a triage is made of: the result, and what the sources of each process saw. */
struct xp_html_triage {
	const struct xp_triage *triage;
	const struct xp_triage_input *const *inputs;
	size_t n_inputs;
};

/* The data of the page as one JSON document in which no "<" stands, so that it can lie inside a script element. */
void xp_html_triage_data(const struct xp_html_triage *page, struct xp_text *out);
void xp_html_graph_data(const void *graph, struct xp_text *out);
/* Text between tags: markup characters escaped, control characters and bytes that are not UTF-8 replaced. Line ends stay. */
void xp_html_text(struct xp_text *out, const char *text);

/* Generated from src/output/html/ (cmake/XprobeAssets.cmake). The policy allows exactly this style and this script, and no request. */
extern const char xp_html_style[], xp_html_script[], xp_html_policy[];

#endif
