/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps graph results inside their budget. In: a graph's value. Out: the same, smaller. No state. */
#include <string.h>

#include "result/graph.h"

static bool has_code(const struct xp_quality *quality, const char *code)
{
	for (size_t i = 0; i < quality->n_issues; i++)
		if (!strcmp(quality->issues[i].code, code))
			return true;
	return false;
}

static struct xp_issue *own_issues(struct xp_graph_result *graph, struct xp_quality *quality)
{
	struct xp_issue *own = xp_arena_array(graph->arena, struct xp_issue, quality->n_issues);

	if (quality->n_issues)
		memcpy(own, quality->issues, quality->n_issues * sizeof(*own));
	quality->issues = own;
	return own;
}

/* The capture's quality tells it for all edges. */
static void leave_common(struct xp_graph_result *graph, size_t edge)
{
	struct xp_quality *quality = &graph->edges[edge].quality;
	struct xp_issue *own = own_issues(graph, quality);
	size_t n = 0;

	for (size_t i = 0; i < quality->n_issues; i++)
		if (!has_code(&graph->quality, own[i].code))
			own[n++] = own[i];
	quality->n_issues = n;
}

/* The numbers are members of the edge too. */
static void leave_details(struct xp_graph_result *graph, size_t edge)
{
	struct xp_quality *quality = &graph->edges[edge].quality;
	struct xp_issue *own = own_issues(graph, quality);

	for (size_t i = 0; i < quality->n_issues; i++)
		own[i].details = NULL;
}

static bool told_before(const struct xp_graph_result *graph, size_t edge, const char *code)
{
	for (size_t i = 0; i < edge; i++)
		if (has_code(&graph->edges[i].quality, code))
			return true;
	return false;
}

static void leave_messages(struct xp_graph_result *graph, size_t edge)
{
	struct xp_quality *quality = &graph->edges[edge].quality;
	struct xp_issue *own = own_issues(graph, quality);

	for (size_t i = 0; i < quality->n_issues; i++)
		if (told_before(graph, edge, own[i].code))
			own[i].message = "as above";
}

/* From the last edge on, so that what an edge before tells is still there to be compared with. */
static void leave_repeated(struct xp_graph_result *graph, size_t edge)
{
	size_t last = graph->n_edges - 1 - edge, n = 0;
	struct xp_quality *quality = &graph->edges[last].quality;
	struct xp_issue *own = own_issues(graph, quality);

	for (size_t i = 0; i < quality->n_issues; i++)
		if (!told_before(graph, last, own[i].code))
			own[n++] = own[i];
	quality->n_issues = n;
}

static void (*const steps[])(struct xp_graph_result *graph, size_t edge) = { leave_common, leave_details, leave_messages, leave_repeated };

bool xp_graph_shrink(void *value)
{
	struct xp_graph_result *graph = value;

	if (graph->shrunk == XP_LEN(steps))
		return false;
	for (size_t i = 0; i < graph->n_edges; i++)
		steps[graph->shrunk](graph, i);
	graph->shrunk++;
	return true;
}
